"""A model call's bytes are kept, whatever its decoder makes of them."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from agentcore.commands import AttemptKind, CallModel
from agentcore.messages import ChatRequest, Continuation, Delta, Message, Role
from agentcore.providers import PROVIDERS, get_provider
from dashboard.agents.models import Connection
from dashboard.live.model_call import answer_of, prepared_call
from dashboard.live.response_reader import ResponseReader
from dashboard.live.transport import Head, Transport
from dashboard.turns.recorder import CallRow
from dashboard.turns.request_frames import MESSAGE_KEYS

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


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_stored_once_of_a_continuation_is_what_its_body_begins_with(provider: str) -> None:
    asked = (Message(Role.USER, "Why?"),)
    going = Continuation("Because", "Go on.")
    request = ChatRequest(model="m", messages=asked, max_tokens=10, system_prompt="Be brief.", continuation=going)
    command = CallModel(AttemptKind.CONTINUATION, 2, request)
    call = prepared_call(command, get_provider(provider), Connection(base_url="http://127.0.0.1:1"), 1)
    sent = next(call.body[key] for key in MESSAGE_KEYS if key in call.body)
    assert list(call.history) == sent[: len(call.history)]
