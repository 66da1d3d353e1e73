"""Errors that name themselves: Anthropic's types and AWS's exceptions. Claude speaks both, on Bedrock.

Sources: the vendors' references; botocore's model of bedrock-runtime.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.errors import ProviderError
from agentcore.providers.wire.error_bodies import (
    LONGEST_MESSAGE,
    judge_call,
    not_dialect,
    read_body,
    readable,
    told_retryable,
)
from agentcore.providers.wire.error_kinds import STOP_REASON_BY_KIND, kind_of, may_heal, type_of
from agentcore.providers.wire.retry_after import retry_after
from agentcore.providers.wire.untrusted_json import count, mapping, string, word

ErrorObject = Mapping[str, Any]

_EXCEPTION = "exception"
# The status that goes with a name, for errors inside a stream that began well.
_STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "validationexception": 400,
    "servicequotaexceededexception": 400,
    "accessdeniedexception": 403,
    "expiredtokenexception": 403,
    "unrecognizedclientexception": 403,
    "invalidsignatureexception": 403,
    "resourcenotfoundexception": 404,
    "modeltimeoutexception": 408,
    "modelerrorexception": 424,
    "modelstreamerrorexception": 424,
    "modelnotreadyexception": 429,
    "internalserverexception": 500,
    "serviceunavailableexception": 503,
}
# Names and statuses that mean something else than the status alone would say.
_KINDS_BY_NAME: Mapping[str, str] = {
    "billing_error": "quota",
    "servicequotaexceededexception": "quota",
    "modelnotreadyexception": "unavailable",
    "modelerrorexception": "server",
    "modelstreamerrorexception": "server",
}
_KINDS_BY_STATUS: Mapping[int, str] = {
    413: "context_length",  # Anthropic's limit on a request is far above any context window
    424: "server",
}
_THROTTLED = frozenset({"throttlingexception", "toomanyrequestsexception"})  # some of AWS sends them with 400
_CREDIT_IS_SPENT = "credit balance is too low"  # a 400 without a code of its own
_BLOCKED = "blocked by content filtering policy"  # as a 400, and as an `api_error` inside a stream


def find_error(payload: Mapping[str, Any]) -> ErrorObject | None:
    """The error object of a payload: under `error`, or an exception as the only member of AWS's union."""
    error = payload.get("error")
    if isinstance(error, dict) and error:
        return error
    if string(error).strip():
        return {"message": error}
    if payload.get("type") == "error":
        return payload
    for name, value in payload.items():
        if name.lower().endswith(_EXCEPTION) and isinstance(value, dict):
            return {**value, "code": name}
    return {"code": name_in_body, "message": _message(payload)} if (name_in_body := _type_of_body(payload)) else None


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """What a failed call means; also a 2xx whose body holds an error, or is not one of these dialects at all."""
    judge_call(status, headers, body)
    lowered = {name.lower(): value for name, value in headers.items()}
    payload = read_body(body)
    error = find_error(payload)
    named = lowered.get("x-amzn-errortype", "").split(":")[0].strip()
    if error is None and not named and 200 <= status < 300:
        return not_dialect(status, lowered, body)
    found = payload if error is None else error
    return _judge(status, lowered, {**found, "code": named} if named else found, fallback=readable(body))


def error_inside(error: ErrorObject) -> ProviderError:
    """What an error object inside a 200 means; its name stands for the status."""
    return _judge(None, {}, error, fallback="The provider sent an error without a message.")


def _judge(status: int | None, headers: Mapping[str, str], error: ErrorObject, *, fallback: str) -> ProviderError:
    names = [name for name in _names(error) if name]
    known = [name.lower() for name in names]
    told = status if status is not None and status >= 400 else _original_status(error)
    spoken = told or next((_STATUSES[name] for name in known if name in _STATUSES), None)
    if not _THROTTLED.isdisjoint(known):
        spoken = 429
    message = _message(error) or fallback
    kind = _kind(spoken, known, message)
    return ProviderError(
        type_of(spoken, kind),
        kind,
        message[:LONGEST_MESSAGE],
        status=told or status,
        code=next(iter(names), None),
        retry_after=retry_after(headers),
        stop_reason=STOP_REASON_BY_KIND.get(kind),
        retryable=told_retryable(headers, unless_told=may_heal(spoken, kind)),
    )


def _kind(spoken: int | None, names: list[str], message: str) -> str:
    kind = kind_of(spoken, set(names), message)
    if kind in STOP_REASON_BY_KIND or kind == "quota":
        return kind
    if _BLOCKED in message.lower():
        return "content_policy"
    if _CREDIT_IS_SPENT in message.lower():
        return "quota"
    by_name = next((_KINDS_BY_NAME[name] for name in names if name in _KINDS_BY_NAME), None)
    return by_name or _KINDS_BY_STATUS.get(spoken or 0, kind)


def _names(error: ErrorObject) -> Iterator[str]:
    yield word(error.get("code"))
    yield string(mapping(error.get("details")).get("error_code"))
    kind = string(error.get("type"))
    yield "" if kind == "error" else kind


def _type_of_body(payload: Mapping[str, Any]) -> str:
    """The name in `__type`, after the namespace that stands before it."""
    return string(payload.get("__type")).rpartition("#")[2]


def _message(error: ErrorObject) -> str:
    return string(error.get("message")).strip() or string(error.get("Message")).strip()


def _original_status(error: ErrorObject) -> int | None:
    """What a `modelStreamErrorException` quotes of the model behind it."""
    status = count(error.get("originalStatusCode"))
    return status if status is not None and 400 <= status < 600 else None
