"""The headers that every operation knows: entity tags, idempotency keys, rate limits."""

from typing import Any

_TAG = {"type": "string", "examples": ['"3c9f0a6d1be24f57a1c0de5b7f2a9e41"']}
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": _TAG,
    "description": "An `ETag`. If nothing has changed, the response is 304 without a body.",
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "examples": ["*"]},
    "description": "`*`, or the `ETag` from a `GET` of the resource: 412 if the resource has changed since.",
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[!#-~]+$",
        "examples": ["5f0c7f7e-7c2e-4a5c-9d3a-1b1f2f3d4c5b"],
    },
    "description": "The request is performed once. If it is sent again within 24 hours, the response is the same.",
}
UNREAD = {
    "/api/v1/logs/import",
    "/api/v1/turns/import",
}  #: where nothing can be read that a write could be conditional on
_NOT_MODIFIED = {"description": "Nothing has changed since the `ETag` in `If-None-Match`."}
_RATE: dict[str, Any] = {
    "RateLimit-Policy": {
        "description": "The quota `q` per window of `w` seconds.",
        "schema": {"type": "string", "examples": ['"default";q=30000;w=60']},
    },
    "RateLimit": {
        "description": "The remaining quota `r`, and the seconds `t` until the full quota is available.",
        "schema": {"type": "string", "examples": ['"default";r=29999;t=1']},
    },
}
_ETAG = {"description": "The version of this response; send it as `If-None-Match` or `If-Match`.", "schema": _TAG}


def with_headers(schema: dict[str, Any]) -> None:
    """Put them to every operation."""
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            reads = method == "get"
            added = [_IF_NONE_MATCH] if reads else [_IDEMPOTENCY_KEY, *([_IF_MATCH] if path not in UNREAD else ())]
            operation["parameters"] = [*operation.get("parameters", []), *added]
            for status, answer in operation["responses"].items():
                tagged = {"ETag": _ETAG} if reads and str(status) == "200" else {}
                answer["headers"] = {**answer.get("headers", {}), **_RATE, **tagged}
            if reads:
                operation["responses"]["304"] = _NOT_MODIFIED
