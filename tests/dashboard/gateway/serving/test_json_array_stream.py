"""Events become the elements of one array, however they are cut, and each byte is copied a few times at most."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from dashboard.gateway.serving.json_array_stream import JsonArrayStream
from tests.together import together

START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
EVENTS = b'data: {"n": 1}\n\n: ping\n\ndata: {"n": 2}\n\n'


async def told(parts: Iterable[bytes]) -> bytes:
    sent: list[bytes] = []

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message.get("body", b""))

    array = JsonArrayStream(send)
    await array(START)
    for part in parts:
        await array({"type": "http.response.body", "body": part, "more_body": True})
    await array({"type": "http.response.body", "body": b""})
    return b"".join(sent)


@together
@pytest.mark.parametrize("size", range(1, len(EVENTS) + 1))
def test_events_become_elements_wherever_they_are_cut(size: int):
    parts = [EVENTS[at : at + size] for at in range(0, len(EVENTS), size)]
    assert asyncio.run(told(parts)).replace(b"\n", b"").replace(b"\r", b"") == b'[{"n": 1},{"n": 2}]'


class Counted(bytes):
    """Bytes that count what is copied where they are put behind others."""

    copied = 0

    def __radd__(self, other: bytes) -> bytes:
        type(self).copied += len(other)
        return bytes(other) + bytes(self)


def test_an_event_of_many_pieces_is_put_together_once():
    pieces = 2_000
    Counted.copied = 0
    asyncio.run(told([b"data: ", *(Counted(b"x" * 100) for _ in range(pieces)), b"\n\n"]))
    assert Counted.copied == 0
