"""The items of a stream: announced, filled, done, whatever they hold."""

import json

import pytest

from dashboard.gateway.wire.responses.stream_serializer import EventLog

THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}, {"type": "summary_text", "text": "Yes."}],
    "content": [{"type": "reasoning_text", "text": "I think."}],
    "encrypted_content": "x",
}
PATCH = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "c",
    "name": "patch",
    "input": "+1",
    "status": "completed",
}
SHELL = {"type": "local_shell_call", "id": "sh_1", "call_id": "c", "action": {"type": "exec"}, "status": "completed"}


def kinds(told: bytes) -> list[str]:
    return [line[7:].removeprefix("response.") for line in told.decode().split("\n") if line.startswith("event: ")]


@pytest.mark.parametrize("item", [THOUGHT, PATCH, SHELL], ids=lambda item: item["type"])
def test_a_complete_item_is_repeated_unchanged(item):
    written = EventLog()
    told = written.whole(item)
    events = [json.loads(line[6:]) for line in told.decode().split("\n") if line.startswith("data: ")]
    assert written.items == [item]
    assert events[-1]["item"] == item
    assert [event["sequence_number"] for event in events] == [*range(len(events))]
    assert kinds(told)[0] == "output_item.added"
    assert kinds(told)[-1] == "output_item.done"


def test_reasoning_is_streamed_summary_by_summary():
    assert kinds(EventLog().whole(THOUGHT))[1:-1] == [
        *["reasoning_summary_part.added", "reasoning_summary_text.delta"],
        *["reasoning_summary_text.done", "reasoning_summary_part.done"],
        *["reasoning_summary_part.added", "reasoning_summary_text.delta"],
        *["reasoning_summary_text.done", "reasoning_summary_part.done"],
        *["reasoning_text.delta", "reasoning_text.done"],
    ]


def test_the_text_of_a_custom_call_has_its_own_events():
    assert kinds(EventLog().whole(PATCH))[1:-1] == ["custom_tool_call_input.delta", "custom_tool_call_input.done"]
