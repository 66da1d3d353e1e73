"""Every golden transcript of chat completions keeps the contract of its API: judged from the files alone, apart from
what they say.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.contract import REASONS, data_of, faults_of
from tests.golden.conversations import CONVERSATIONS
from tests.golden.test_transcripts import TRANSCRIPTS
from tests.together import together

NAMES = [name for name, held in CONVERSATIONS.items() if held.door == "/v1/chat/completions"]
STREAMS = [TRANSCRIPTS / f"{name}.stream.http" for name in NAMES]
#: The reason each ends with, where it is no error.
ENDS = {
    "stop": "stop",
    "stop_observed": "stop",
    "length": "length",
    "length_honest": "length",
    "tool_calls": "tool_calls",
    "tool_calls_observed": "tool_calls",
    "tool_calls_translated": "tool_calls",
    "tool_choice_forced": "tool_calls",
    "tool_choice_forced_observed": "stop",
    "function_call": "function_call",
    "function_call_observed": "function_call",
    "content_filter": "content_filter",
    "content_filter_observed": "content_filter",
    "refusal": "content_filter",
    "continued": "stop",
    "repaired": "tool_calls",
    "retried": "stop",
    "interrupted": "length",
    "interrupted_continued": "stop",
    "paused": "stop",
    "structured": "stop",
    "structured_cut": "stop",
}


def parts_of(path: Path) -> tuple[dict[str, Any], int, str]:
    """The request, the status, and the body of a transcript."""
    _, request, answer = path.read_text(encoding="utf-8").split("\n\n", 2)
    head, _, body = answer.partition("\n\n")
    return json.loads(request), int(head.split("\n")[0]), f"{body.rstrip()}\n\n"


@together
@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_a_stream_is_ordered_and_belongs_to_one_answer(path: Path):
    request, status, body = parts_of(path)
    if status == 200:
        assert faults_of(body, include_usage=request.get("stream_options", {}).get("include_usage", False)) == []
    else:
        assert json.loads(body)["error"]["message"]


@together
@pytest.mark.parametrize("name", NAMES)
def test_complete_and_streamed_answers_are_the_same(name: str):
    (_, status, whole), (_, streamed_status, stream) = (
        parts_of(TRANSCRIPTS / f"{name}.{form}.http") for form in ("whole", "stream")
    )
    if status != 200:
        assert name not in ENDS
        error = json.loads(whole)["error"]
        last = json.loads(stream) if streamed_status != 200 else json.loads(data_of(stream)[-1])
        assert error.items() <= last["error"].items()
        return
    choice = json.loads(whole)["choices"][0]
    message, chunks = choice["message"], [json.loads(event) for event in data_of(stream)[:-1]]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    told = [chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"]][-1]
    assert choice["finish_reason"] == told == ENDS[name]
    assert told in REASONS
    assert (message.get("refusal") or "") == "".join(delta.get("refusal") or "" for delta in deltas)
    assert calls_in([message]) == calls_in(deltas)
    if told == "content_filter":  # a stream cannot take back what it has said
        assert message["content"] is None
    elif name != "interrupted":  # where it breaks differs
        assert (message["content"] or "") == "".join(delta.get("content") or "" for delta in deltas)


def calls_in(said: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Name and arguments of each call that is told, in one piece or in many."""
    calls: dict[int, list[str]] = {}
    for part in said:
        told = part.get("tool_calls") or ([{"function": part["function_call"]}] if part.get("function_call") else [])
        for position, call in enumerate(told):
            name, arguments = calls.setdefault(call.get("index", position), ["", ""])
            function = call["function"]
            calls[call.get("index", position)] = [name + function.get("name", ""), arguments + function["arguments"]]
    return [(name, json.loads(arguments)) for name, arguments in calls.values()]


EVENT = '{"id":"a","created":1,"model":"m","object":"o","choices":[{"delta":%s,"finish_reason":%s}]%s}'
ROLE, WORD, END = EVENT % ('{"role":"assistant"}', "null", ""), EVENT % ('{"content":"x"}', "null", ""), '"stop"'
FINISH = EVENT % ("{}", END, "")


def stream(*events: str) -> str:
    return "".join(f"data: {event}\n\n" for event in events)


@together
@pytest.mark.parametrize(
    "broken",
    [
        stream(WORD, FINISH, "[DONE]"),
        stream(ROLE, WORD, "[DONE]"),
        stream(ROLE, FINISH, WORD, "[DONE]"),
        stream(ROLE, ROLE, FINISH, "[DONE]"),
        stream(ROLE, WORD, FINISH),
        stream(ROLE, WORD.replace('"a"', '"b"'), FINISH, "[DONE]"),
        stream(ROLE, WORD.replace("null", '"stop"'), FINISH, "[DONE]"),
        stream(ROLE, EVENT % ('{"tool_calls":[]}', "null", ""), WORD, FINISH, "[DONE]"),
        stream(ROLE, WORD, FINISH.replace("stop", "solar_flare"), "[DONE]"),
        stream(ROLE, WORD, EVENT % ("{}", END, ',"usage":{}'), "[DONE]"),
        stream("[DONE]"),
    ],
)
def test_violations_of_the_contract_are_found(broken: str):
    assert faults_of(stream(ROLE, WORD, FINISH, "[DONE]")) == []
    assert faults_of(broken)
