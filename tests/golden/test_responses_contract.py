"""Every golden transcript of the door of responses keeps the contract of its API; the dialect's codec reads it back."""

import json
from typing import Any

import pytest

from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from tests.golden.contract import data_of
from tests.golden.conversations import CONVERSATIONS, RESPONSES
from tests.golden.test_contract import parts_of
from tests.golden.test_transcripts import TRANSCRIPTS
from tests.together import together

NAMES = [name for name, held in CONVERSATIONS.items() if held.door == RESPONSES]
LAST = ("response.completed", "response.incomplete", "response.failed")
#: The word each kind ends with, where it is no error.
ENDS = {
    "completed": "completed",
    "continued": "completed",
    "incomplete": "max_output_tokens",
    "calls": "completed",
    "repaired": "completed",
    "filtered": "content_filter",
    "refusal": "content_filter",
    "structured": "completed",
    "interrupted": "max_output_tokens",
}
#: Where a whole answer and its stream differ: in where they break, or in what a stream cannot take back.
UNLIKE = ("interrupted", "filtered")


def kind_of(name: str) -> str:
    return name.removeprefix("responses_").split("_of_")[0].removesuffix("_observed")


def faults_of(stream: str) -> list[str]:
    """What is wrong with a stream, in words."""
    events = [json.loads(event) for event in data_of(stream)]
    names = [line.removeprefix("event: ") for line in stream.split("\n") if line.startswith("event: ")]
    kinds = [event["type"] for event in events]
    wrong = [] if kinds == names else ["an event is not called as its type"]
    if [event["sequence_number"] for event in events] != [*range(len(events))]:
        wrong.append("the events are not numbered one after the other")
    if kinds[:2] != ["response.created", "response.in_progress"] or kinds[-1] not in LAST:
        wrong.append(f"it begins and ends with {kinds[:2]} and {kinds[-1]}")
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    if kinds[-1] in LAST[:2] and events[-1]["response"]["output"] != done:
        wrong.append("the last event does not repeat the items")
    return wrong + _items_out_of_order(events[2:-1])


def _items_out_of_order(events: list[Any]) -> list[str]:
    """Each item is added, filled and done before the next one is; its pieces make its texts."""
    wrong, opened, expected, pieces = [], None, 0, ""
    for event in events:
        kind, index = event["type"], event["output_index"]
        if kind == "response.output_item.added":
            wrong += (
                [f"item {index} begins within another, or out of turn"] if (opened, index) != (None, expected) else []
            )
            opened, expected = event["item"]["id"], expected + 1
        elif kind == "response.output_item.done":
            wrong += [f"item {index} is done, and {opened} is open"] if event["item"]["id"] != opened else []
            opened = None
        elif event["item_id"] != opened:
            wrong.append(f"{kind} is of another item than the one that is open")
        pieces += event.get("delta", "")
        text = next((event[name] for name in ("text", "refusal", "arguments") if name in event), None)
        if kind.endswith(".done") and text is not None:
            wrong += [] if pieces == text else [f"{kind} says {text!r}, and its pieces {pieces!r}"]
            pieces = ""
    return wrong if opened is None else [*wrong, f"item {opened} is not done"]


def read(body: str) -> ChatResponse:
    decoder = get_provider("openai_responses").stream_decoder()
    decoder.feed(body.encode())
    return decoder.close()


@together
@pytest.mark.parametrize("name", NAMES)
def test_complete_and_streamed_answers_are_the_same(name: str):
    (_, status, whole), (_, streamed_status, stream) = (
        parts_of(TRANSCRIPTS / f"{name}.{form}.http") for form in ("whole", "stream")
    )
    if status != 200:
        assert kind_of(name) not in ENDS or name == "responses_interrupted"
        assert json.loads(whole)["error"].keys() == {"message", "type", "param", "code"}
        return
    assert streamed_status == 200
    assert faults_of(stream) == []
    one, other = read(whole), read(stream)
    word = "completed" if name == "responses_refusal_observed" else ENDS[kind_of(name)]
    assert one.raw_stop_reason == other.raw_stop_reason == word
    assert one.refusal == other.refusal
    assert [(call.name, call.arguments) for call in one.tool_calls] == [
        (call.name, call.arguments) for call in other.tool_calls
    ]
    if kind_of(name) not in UNLIKE:
        assert one.text == other.text


def stream_of(*events: dict[str, Any]) -> str:
    numbered = ({**event, "sequence_number": event.get("sequence_number", n)} for n, event in enumerate(events))
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in numbered)


ITEM = {"id": "msg_1", "type": "message"}
CREATED, STARTED = {"type": "response.created"}, {"type": "response.in_progress"}
ADDED, DONE = ({"type": f"response.output_item.{kind}", "output_index": 0, "item": ITEM} for kind in ("added", "done"))
DELTA = {"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "delta": "Hi"}
TEXT = {"type": "response.output_text.done", "output_index": 0, "item_id": "msg_1", "text": "Hi"}
END = {"type": "response.completed", "response": {"output": [ITEM]}}


@together
@pytest.mark.parametrize(
    "broken",
    [
        [STARTED, ADDED, DELTA, TEXT, DONE, END],
        [CREATED, STARTED, DELTA, ADDED, TEXT, DONE, END],
        [CREATED, STARTED, ADDED, TEXT, DONE, END],
        [CREATED, STARTED, ADDED, DELTA, TEXT, END],
        [CREATED, STARTED, ADDED, DELTA, TEXT, DONE, {**END, "response": {"output": []}}],
        [CREATED, STARTED, ADDED, DELTA, TEXT, DONE, {**END, "sequence_number": 9}],
        [CREATED, STARTED, ADDED, DELTA, TEXT, DONE],
    ],
)
def test_violations_of_the_contract_are_found(broken):
    assert faults_of(stream_of(CREATED, STARTED, ADDED, DELTA, TEXT, DONE, END)) == []
    assert faults_of(stream_of(*broken))
