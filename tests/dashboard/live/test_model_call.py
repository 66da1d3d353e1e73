"""A model call's bytes are kept, whatever its decoder makes of them."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from agentcore.messages import Delta
from agentcore.providers import get_provider
from dashboard.agents.models import Connection
from dashboard.live.model_call import answer_of
from dashboard.live.response_reader import ResponseReader
from dashboard.live.transport import Head, Transport
from dashboard.turns.recorder import CallRow

CALL = CallRow(
    index=1,
    kind="fresh",
    iteration=0,
    provider="openai",
    model="m",
    max_tokens=10,
    url="http://127.0.0.1:1/",
    body={},
    history=[],
    text="{}",
)


class Answering:
    async def post(self, url: str, **_: Any) -> AsyncIterator[Head | bytes]:
        yield Head(200, {})
        yield b"data: what nobody foresaw\n\n"


async def test_bytes_that_a_decoder_stumbles_over_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(part: bytes) -> list[Delta]:
        raise ZeroDivisionError

    reading, kept = ResponseReader(CALL, get_provider("openai"), "c"), list[tuple[bytes, list[Delta]]]()
    monkeypatch.setattr(reading._decoder, "feed", stumble)

    async def took(part: bytes, deltas: list[Delta]) -> None:
        kept.append((part, deltas))

    connection = Connection(name="c", provider="openai", base_url="http://127.0.0.1:1")
    transport = cast("Transport", Answering())
    with pytest.raises(ZeroDivisionError):
        await answer_of(reading, took, body=b"{}", connection=connection, transport=transport, seconds=1)
    assert kept == [(b"data: what nobody foresaw\n\n", [])]
