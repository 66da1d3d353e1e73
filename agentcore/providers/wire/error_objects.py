"""Errors as OpenAI-compatible servers put them: in the body of a failed call, or inside an answer that began well."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from math import inf
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
from agentcore.providers.wire.retry_after import delay_in_message, retry_after
from agentcore.providers.wire.untrusted_json import mapping, sequence, string, word

_RETRY_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")

ErrorObject = Mapping[str, Any]


def find_error(payload: Mapping[str, Any]) -> ErrorObject | None:
    """The error object of a payload: under `error`, at a choice, or the payload itself where servers send it flat."""
    places = [payload["error"]] if payload.get("error") else []
    choices = payload.get("choices")
    if isinstance(choices, list):
        places += [choice["error"] for choice in choices if isinstance(choice, dict) and choice.get("error")]
    for error in places:
        if isinstance(error, dict):
            return error
        if string(error).strip():
            return {"message": error}
    return payload if payload.get("object") == "error" else None


def decode_error(
    status: int, headers: Mapping[str, str], body: bytes, find: Callable[[ErrorObject], ErrorObject | None] = find_error
) -> ProviderError:
    """What a failed call means; also a 2xx whose body holds an error, or is not this dialect at all.

    `find` looks for the error object in the body, in the words of `find_error`.
    """
    judge_call(status, headers, body)
    lowered = {name.lower(): value for name, value in headers.items()}
    payload = read_body(body)
    error = find(payload)
    if error is None and 200 <= status < 300:
        return not_dialect(status, lowered, body)
    return _judge(status, lowered, payload if error is None else error, fallback=readable(body))


def error_inside(error: ErrorObject) -> ProviderError:
    """What an error object inside a 200 means; its own `status` or numeric `code` stands for the status."""
    return _judge(None, {}, error, fallback="The provider sent an error without a message.")


def _judge(status: int | None, headers: Mapping[str, str], error: ErrorObject, *, fallback: str) -> ProviderError:
    if status is None or status < 400:
        status = _inner_status(error) or status
    spoken = status if status is not None and status >= 400 else None
    codes = sorted((code for code in _codes(error) if code), key=_repeats_a_status)
    message = "; ".join(_messages(error)) or fallback
    flagged = spoken == 403 and ("flagged_input" in _metadata(error) or "reasons" in _metadata(error))
    kind = "content_policy" if flagged else kind_of(spoken, {code.lower() for code in codes}, message)
    waits = (retry_after(headers), _delay_in_body(error), _delay_in_message(kind, message))
    return ProviderError(
        type_of(spoken, kind),
        kind,
        message[:LONGEST_MESSAGE],
        status=status,
        code=next(iter(codes), None),
        retry_after=next((wait for wait in waits if wait is not None), None),
        stop_reason=STOP_REASON_BY_KIND.get(kind),
        retryable=told_retryable(headers, unless_told=may_heal(spoken, kind)),
    )


def _repeats_a_status(code: str) -> bool:
    """Whether a code is only an HTTP status once more, so that any other says more."""
    return len(code) == 3 and code.isascii() and code.isdigit() and 400 <= int(code) < 600


def _inner_status(error: ErrorObject) -> int | None:
    for name in ("status", "status_code", "code"):
        text = word(error.get(name))
        if _repeats_a_status(text):
            return int(text)
    return None


def _metadata(error: ErrorObject) -> Mapping[str, Any]:
    return mapping(error.get("metadata"))


def _codes(error: ErrorObject) -> Iterator[str]:
    yield word(error.get("code"))
    yield string(error.get("type"))
    yield string(_metadata(error).get("error_type"))
    yield string(mapping(error.get("innererror")).get("code"))


def _messages(error: ErrorObject) -> Iterator[str]:
    """What is said, and what the gateway quotes of the server behind it."""
    for said in (
        error.get("message"),
        error.get("detail"),
        error.get("error_description"),
        _metadata(error).get("raw"),
    ):
        if isinstance(said, dict | list) and said:
            yield string(json.dumps(said, ensure_ascii=False)[:LONGEST_MESSAGE])
        elif string(said).strip():
            yield string(said).strip()


def _delay_in_message(kind: str, message: str) -> float | None:
    """Of a rate limit alone: what else is said of trying again, as of a spent quota, asks for no retry."""
    return delay_in_message(message[:LONGEST_MESSAGE]) if kind == "rate_limit" else None


def _delay_in_body(error: ErrorObject) -> float | None:
    """Google's `RetryInfo`, which its compatible endpoint sends instead of a header."""
    for detail in sequence(error.get("details")):
        found = _RETRY_DELAY.fullmatch(string(mapping(detail).get("retryDelay")))
        if found and (seconds := float(found[1])) < inf:  # hundreds of digits are read as infinity
            return seconds
    return None
