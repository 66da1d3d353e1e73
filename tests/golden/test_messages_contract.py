"""Every golden transcript of Anthropic's door keeps the contract of its API; the dialect's codec reads it back."""

import json
from typing import Any

import pytest

from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from tests.golden.contract import data_of
from tests.golden.conversations import CONVERSATIONS, MESSAGES
from tests.golden.test_contract import parts_of
from tests.golden.test_transcripts import TRANSCRIPTS
from tests.together import together

NAMES = [name for name, held in CONVERSATIONS.items() if held.door == MESSAGES]
#: The reason each ends with, where it is no error.
ENDS = {
    "messages_end_turn": "end_turn",
    "messages_end_turn_observed": "end_turn",
    "messages_max_tokens": "max_tokens",
    "messages_max_tokens_honest": "max_tokens",
    "messages_continued": "end_turn",
    "messages_continued_translated": "end_turn",
    "messages_tool_use": "tool_use",
    "messages_tool_use_observed": "tool_use",
    "messages_tool_use_translated": "tool_use",
    "messages_repaired": "tool_use",
    "messages_refusal": "refusal",
    "messages_refusal_translated": "refusal",
    "messages_window": "model_context_window_exceeded",
    "messages_paused": "end_turn",
    "messages_paused_observed": "pause_turn",
    "messages_structured": "end_turn",
    "messages_interrupted": "max_tokens",
}


def faults_of(stream: str) -> list[str]:
    """What is wrong with a stream, in words."""
    events = [json.loads(event) for event in data_of(stream)]
    names = [line.removeprefix("event: ") for line in stream.split("\n") if line.startswith("event: ")]
    kinds = [event["type"] for event in events]
    wrong = [] if kinds == names else ["an event is not called as its type"]
    told = [(kind, event) for kind, event in zip(kinds, events, strict=True) if kind != "ping"]
    order = [kind for kind, _ in told]
    if order[:1] != ["message_start"] or order[-2:] != ["message_delta", "message_stop"]:
        wrong.append(f"it begins and ends with {order[:1]} and {order[-2:]}")
    return wrong + _blocks_out_of_order([event for kind, event in told if kind.startswith("content_block")])


def _blocks_out_of_order(events: list[Any]) -> list[str]:
    """Each block is opened, filled and closed before the next one is."""
    opened, wrong = None, []
    expected = 0
    for event in events:
        kind, index = event["type"], event["index"]
        if kind == "content_block_start" and (opened is not None or index != expected):
            wrong.append(f"block {index} begins within another, or out of turn")
        elif kind != "content_block_start" and index != opened:
            wrong.append(f"{kind} is of block {index}, and {opened} is open")
        opened = None if kind == "content_block_stop" else index
        expected += kind == "content_block_start"
    return wrong if opened is None else [*wrong, f"block {opened} is not closed"]


def read(body: str) -> ChatResponse:
    decoder = get_provider("anthropic").stream_decoder()
    decoder.feed(body.encode())
    return decoder.close()


@together
@pytest.mark.parametrize("name", NAMES)
def test_complete_and_streamed_answers_are_the_same(name: str):
    (_, status, whole), (_, streamed_status, stream) = (
        parts_of(TRANSCRIPTS / f"{name}.{form}.http") for form in ("whole", "stream")
    )
    if status != 200:
        assert name not in ENDS
        assert json.loads(stream) == json.loads(whole)
        assert json.loads(whole).keys() == {"type", "error", "request_id"}
        return
    assert streamed_status == 200
    assert faults_of(stream) == []
    one, other = read(whole), read(stream)
    assert one.raw_stop_reason == other.raw_stop_reason == ENDS[name]
    assert one.refusal == other.refusal
    assert [(call.name, call.arguments) for call in one.tool_calls] == [
        (call.name, call.arguments) for call in other.tool_calls
    ]
    if ENDS[name] == "refusal":  # a stream cannot take back what it has said
        assert one.text == ""
    elif name != "messages_interrupted":  # where it breaks differs
        assert one.text == other.text


def stream_of(*events: dict[str, Any]) -> str:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


START, DELTA, STOP = {"type": "message_start"}, {"type": "message_delta"}, {"type": "message_stop"}
OPEN, FILL, CLOSE = ({"type": f"content_block_{kind}", "index": 0} for kind in ("start", "delta", "stop"))


@together
@pytest.mark.parametrize(
    "broken",
    [
        [OPEN, FILL, CLOSE, DELTA, STOP],
        [START, OPEN, FILL, CLOSE, STOP],
        [START, OPEN, FILL, DELTA, STOP],
        [START, FILL, CLOSE, DELTA, STOP],
        [START, OPEN, CLOSE, FILL, DELTA, STOP],
        [START, OPEN, CLOSE, OPEN, CLOSE, DELTA, STOP],
        [START, OPEN, FILL, CLOSE, DELTA],
    ],
)
def test_violations_of_the_contract_are_found(broken):
    assert faults_of(stream_of(START, {"type": "ping"}, OPEN, FILL, CLOSE, DELTA, STOP)) == []
    assert faults_of(stream_of(*broken))
