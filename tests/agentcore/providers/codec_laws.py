"""What holds for any codec, whatever a provider sends: the laws that each dialect's own shapes are tried on."""

import contextlib
import json
from collections.abc import Callable, Iterable

import pytest

from agentcore.errors import DecodeError
from agentcore.messages import ChatResponse, Delta
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason

#: What is no answer of any dialect, and two that are another's.
FOREIGN = (
    b"<html>",
    b"",
    b"nope",
    b'{"choices": []}',
    b'data: {"type": "message_start"}\n\n',
    b"data: hello\n\n",
    b"[]",
)

Read = Callable[..., tuple[ChatResponse, list[Delta]]]


def reader(provider: str) -> Read:
    """Reads chunks of bytes as this provider's stream: the answer, and what was shown of it."""

    def read(*chunks: bytes, cap: int | None = None) -> tuple[ChatResponse, list[Delta]]:
        decoder = get_provider(provider).stream_decoder(max_tokens=cap)
        deltas = [delta for chunk in chunks for delta in decoder.feed(chunk)]
        return decoder.close(), deltas

    return read


def is_refused_in_any_chunking(read: Read, body: bytes) -> None:
    for chunks in ([body], [body[i : i + 1] for i in range(len(body))]):
        with pytest.raises(DecodeError):
            read(*chunks)


def reads_the_same_in_any_chunking(read: Read, payloads: Iterable[object], name: str, *, done: bool) -> None:
    """`name`: of each event; `done`: the stream ends in `[DONE]`."""
    head = f"event: {name}\ndata: " if name else "data: "
    stream = b"".join(head.encode() + json.dumps(payload).encode() + b"\n\n" for payload in payloads)
    stream += b"data: [DONE]\n\n" * done
    try:
        whole = repr(read(stream))
    except DecodeError:
        return
    for size in (1, 7):
        assert repr(read(*(stream[i : i + size] for i in range(0, len(stream), size)))) == whole
    assert repr(read(*stream.splitlines(keepends=True))) == whole


def never_ends_naturally(read: Read, document: bytes) -> None:
    """Of a document that was cut somewhere."""
    with contextlib.suppress(DecodeError):
        response, _ = read(document)
        assert response.incomplete_stream
        assert response.stop_reason not in (Reason.END_TURN, Reason.TOOL_CALL)
