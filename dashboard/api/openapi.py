"""What the API's schema says beside what its routers know: the timeline's parameters, and every error."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from dashboard.api.turn_response_schemas import Draft
from dashboard.exports.formats import FORMATS as FORMATS_OF_FILES
from dashboard.turns.error_types import TOOL_MEANS
from dashboard.turns.filters import CHOICES, FILTER_NAMES, NOT, NUMBERS, WORDS
from dashboard.turns.selectors import DEFAULT_LIMIT, MAX_LIMIT

ABOUT = """Why did this turn stop, and what limit would have let it finish?

Send `Authorization: Bearer <token>`; a session works too, and needs the `X-CSRFToken` header for every request that is
not a `GET`.
Bodies are JSON of at most 2 MB; an unknown field is refused. Times are ISO 8601 in UTC. Errors are problem details
(RFC 9457): 422 if a body does not match its schema, 400 if a value in it is not allowed, each with a sentence for each
field.

Lists are read a page at a time with `cursor` and `limit`. Where the answer is an array, the header `Link` leads to the
next and the previous page. Every read has an `ETag`; send it as `If-None-Match`, or as `If-Match` with a change. A
write with an `Idempotency-Key` is done once. A token has scopes (`read`, `write`, `run`, `admin`) and a rate limit,
which the headers of every answer state.

A turn can be watched in two ways, with the same events. `GET /api/v1/turns/{turn_id}/events` sends server-sent events.
The socket `/ws/turns/{turn_id}/?format=json&after={seq}`, opened with the same token, sends frames
`{type: record | draft | end, id?, data}` and takes actions: `{type: "control", ref?, …}` with the body of the control
call, and `{type: "cancel", ref?}`; it answers `{type: "accepted", ref?, data: the turn}` or
`{type: "refused", ref?, data: the problem}`. A frame has at most 2,000,000 characters.
"""
MEANINGS: Mapping[str, str] = {
    "stop_reason": "Why the agent stopped.",
    "terminal_reason": "Why the turn ended, more precise than the agent stop reason.",
    "resource": "The limit that ended it.",
    "model_stop_reason": "Why the model stopped.",
    "status": "The status of the turn.",
    "provider": "The dialect of the connection, as turns have it. `simulator`: the turns of the simulator.",
    "model": "The model's name.",
    "agent": "The agent's name.",
    "tag": "A tag of the turn.",
    "error_type": f"The type of the last failure, even if a retry succeeded. {TOOL_MEANS}",
    "tokens_from": "At least this many input and output tokens.",
    "tokens_to": "At most this many input and output tokens.",
    "duration_from": "At least this many milliseconds, without pauses by operators, unlike `duration_ms`.",
    "duration_to": "At most this many milliseconds, without pauses by operators, unlike `duration_ms`.",
    "has": "What the turn must have had. If the parameter is repeated, all values must match.",
    "lint": "A sign of truncation.",
    "q": 'Words in the prompt or the answer, in the syntax of a search engine: `"a phrase"`, `-without`, `or`.',
    "since": "Created at this time or later.",
    "until": "Created before this time.",
    **{asked: f"As `{name}`, but excludes turns with any of these values." for name, asked in NOT.items()},
    "requested_again": "`truncated`: turns with a truncated tool call or envelope that was requested again.",
    "run": "Turns of this run: the `run_id` of a turn.",
    "sort": "Default: newest first. `-age`: oldest first. Others: the order of the newest 2,000 matching turns; for "
    "`limit`, of the newest 100. `-`: largest first. `took`: without pauses by operators, unlike `duration_ms`.",
    "fold": "`runs`: only the newest turn of each run that matches the other filters.",
}


FORMATS: Mapping[str, dict[str, Any]] = {
    "run": {"anyOf": [{"format": "uuid"}, {"maxLength": 0}]},  # a filter that is empty is none
    **{name: {"enum": list(known)} for name, known in CHOICES.items()},
}


class Problem(BaseModel):
    """What went wrong, and what to do (RFC 9457)."""

    class Fault(BaseModel):
        field: str | None = Field(description="The invalid field in dotted form; null for the body as a whole.")
        message: str

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[Fault]


def _filter_parameter(name: str) -> dict[str, Any]:
    own = name.removeprefix("not_")
    words = WORDS.get(own)
    word = {"type": "string", **({"enum": list(words)} if words else {})}
    schema: dict[str, Any] = (
        {"type": "array", "items": word} if own in WORDS else {"type": "integer" if name in NUMBERS else "string"}
    )
    schema |= FORMATS.get(name, {})
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": MEANINGS[name]}


FILTER_PARAMETERS: list[dict[str, Any]] = [_filter_parameter(name) for name in FILTER_NAMES]
EXPORT_PARAMETERS: list[dict[str, Any]] = [
    {
        "name": "format",
        "in": "query",
        "required": False,
        "schema": {"type": "string", "enum": list(FORMATS_OF_FILES), "default": "jsonl"},
        "description": "The format of the file.",
    },
    *(_filter_parameter(name) for name in FILTER_NAMES if name not in CHOICES),
]
EXPORT_ANSWER: dict[str, Any] = {
    "description": "The export; docs/how-to/exports.md describes the columns.",
    "content": {
        one.content_type: {"schema": {"type": "string", "format": "binary"}} for one in FORMATS_OF_FILES.values()
    },
}
TIMELINE_PARAMETERS: list[dict[str, Any]] = [
    *FILTER_PARAMETERS,
    {
        "name": "cursor",
        "in": "query",
        "required": False,
        "schema": {"type": "string"},
        "description": "The value of `next` or `previous` in a response.",
    },
    {
        "name": "limit",
        "in": "query",
        "required": False,
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "description": "Turns on a page.",
    },
]

EVENTS_PARAMETERS: list[dict[str, Any]] = [
    {
        "name": "after",
        "in": "query",
        "required": False,
        "schema": {"type": "integer", "minimum": 0, "default": 0},
        "description": "The `seq` of the last record that you have. Later records are sent.",
    },
    {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "pattern": "^[0-9]{0,9}$"},
        "description": "The same, as sent by clients of server-sent events when they reconnect. This header takes "
        "precedence.",
    },
]
#: The schema is that of one event. OpenAPI has no words for what the data of each kind holds, so that stands beside it.
EVENTS_ANSWER: dict[str, Any] = {
    "description": (
        "Events: `record` with its `seq` as `id`; `draft`, the text added to the answer while it streams, from "
        "`offset` on, until the record has the whole answer; `end` with the turn. A comment line after every 15 "
        "seconds without an event."
    ),
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "The `seq` of a record; no other event has one."},
                    "event": {"enum": ["record", "draft", "end"]},
                    "data": {"type": "string", "contentMediaType": "application/json"},
                },
                "required": ["event", "data"],
            },
            "x-events": {
                "record": {"$ref": "#/components/schemas/Record"},
                "draft": {"$ref": "#/components/schemas/Draft"},
                "end": {"$ref": "#/components/schemas/Turn"},
            },
        }
    },
}

#: The errors of each operation, by what it does.
ALWAYS = {
    "401": "No valid credentials.",
    "403": "The token does not have the scope, or its user does not have the permission.",
    "429": "Too many requests with this token; `Retry-After` says when to try again.",
    "500": "An internal error; the server log has the details.",
    "503": "The database is not available.",
}
WITH_ID = {"404": "Nothing with this name or id exists."}
WITH_QUERY = {
    "400": "A filter, the cursor or the limit is invalid; each error names its field and explains it.",
    "422": "A parameter has the wrong type.",
}
WRITING = {
    "400": "The Idempotency-Key is malformed, or a value is not allowed.",
    "403": "The scope or the permission is missing, or the CSRF token if a session is used.",
    "409": "A request with this Idempotency-Key is in progress.",
    "412": "The resource no longer matches `If-Match`.",
    "422": "The Idempotency-Key was used for another request.",
}
WITH_BODY = {
    "400": "The body is not JSON, or a value is not allowed; each error names its field and explains it.",
    "413": "The body is too large.",
    "422": "The body does not match the schema (each error names its field), or the Idempotency-Key was used for "
    "another request.",
}
SEAM = {
    "404": "The test seam is closed, or there is no script of this name.",
    "409": "No simulator answers in the process of this web server.",
}
STREAM = {"400": "`after` is not the number of a record.", "429": "Too many open streams of this caller."}
FILES = {"429": "Too many open files or streams of this caller."}
DAMAGED = {"409": "The stored data of the turn was changed or damaged; `detail` explains how."}
CONFLICT = {"409": "The action is not possible in the current state of the turn, or the same request is in progress."}


def without_seam(schema: dict[str, Any]) -> None:
    """Where the test seam is closed, nothing is said of its calls: there is nothing at their addresses."""
    schema["paths"] = {path: calls for path, calls in schema["paths"].items() if "/simulator/" not in path}


def _errors_of(path: str, method: str, operation: Mapping[str, Any]) -> dict[str, str]:
    errors = dict(ALWAYS)
    if "{" in path:
        errors |= WITH_ID
    if "{turn_id}" in path:
        errors |= DAMAGED
    if method == "get" and any(parameter["in"] == "query" for parameter in operation.get("parameters", ())):
        errors |= WITH_QUERY
    if method != "get":
        errors |= WRITING
    if "requestBody" in operation:
        errors |= WITH_BODY
    if path.endswith(("/cancel", "/control", "}/export")):
        errors |= CONFLICT
    if path.endswith("/turns/export"):
        errors |= FILES
    if path.endswith("/events"):
        errors |= STREAM
    if "/simulator/" in path:
        errors |= SEAM
    return dict(sorted(errors.items()))


def with_problems(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the errors of every operation put in."""
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schema["components"]["schemas"] |= {**problem.pop("$defs"), "Problem": problem}
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            said = _errors_of(path, method, operation).items()
            operation["responses"] |= {status: {"description": words, "content": content} for status, words in said}
    return schema


def with_events(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the events of a stream put in, where no operation answers with them alone."""
    schema["components"]["schemas"]["Draft"] = Draft.model_json_schema()
    return schema
