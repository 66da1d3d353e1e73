"""What every dialect reads alike in a failed call: its body, its headers, and words for a body that is no error."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from agentcore.argument_validation import required
from agentcore.errors import ErrorType, ProviderError
from agentcore.providers.wire.framing import EventReader
from agentcore.providers.wire.untrusted_json import mapping, read_json

#: How much of a provider's message is kept, in characters.
LONGEST_MESSAGE = 2000
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


def judge_call(status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Raise `WrongInput` where what is given is no answer at all."""
    required(status, int, "status")
    required(headers, Mapping, "headers")
    required(body, bytes, "body")


def read_body(body: bytes) -> Mapping[str, Any]:
    """The body as an object, empty where it is none.

    Google wraps its errors in an array; gateways put them into the event that a stream would have begun with.
    """
    try:
        value = read_json(body)
    except ValueError:
        value = next(_in_events(body), None)
    return mapping(next(iter(value), None)) if isinstance(value, list) else mapping(value)


def _in_events(body: bytes) -> Iterator[Any]:
    reader = EventReader()
    for event in (*reader.feed(body), *reader.close()):
        with suppress(ValueError):
            yield read_json(event.data)


def told_retryable(headers: Mapping[str, str], *, unless_told: bool) -> bool:
    """What `x-should-retry` says, where it says something. Names of headers are in lower case."""
    told = headers.get("x-should-retry", "").strip().lower()
    return told == "true" if told in ("true", "false") else unless_told


def readable(body: bytes) -> str:
    """A few words of a body that is no error object: a page's title, or how the text begins."""
    text = body[:20_000].decode("utf-8", "replace").strip()
    title = _TITLE.search(text)
    words = " ".join((title[1] if title else text).split())
    return words[:300] or "The body is empty."


def not_dialect(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """A 2xx whose body is neither an answer nor an error of the dialect."""
    return ProviderError(
        ErrorType.VALIDATION,
        "not_dialect",
        f"The provider answered with status {status} but not in its dialect: {readable(body)}",
        status=status,
        retryable=told_retryable(headers, unless_told=True),
    )
