"""Every golden transcript of the Gemini API's door keeps its contract; the dialect's codec reads it back."""

import json

import pytest

from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from tests.golden.contract import data_of
from tests.golden.conversations import CONVERSATIONS, GEMINI
from tests.golden.test_contract import parts_of
from tests.golden.test_transcripts import TRANSCRIPTS

NAMES = [name for name, held in CONVERSATIONS.items() if held.door == GEMINI]
#: The reason each ends with, where it is no error.
ENDS = {
    "gemini_stop": "STOP",
    "gemini_stop_observed": "STOP",
    "gemini_max_tokens": "MAX_TOKENS",
    "gemini_max_tokens_honest": "MAX_TOKENS",
    "gemini_continued": "STOP",
    "gemini_continued_of_claude": "STOP",
    "gemini_calls": "STOP",
    "gemini_calls_of_chat": "STOP",
    "gemini_repaired_of_chat": "STOP",
    "gemini_safety": "SAFETY",
    "gemini_prompt_blocked": "PROHIBITED_CONTENT",
    "gemini_refusal_of_chat": "SAFETY",
    "gemini_structured": "STOP",
    "gemini_interrupted_of_chat": "MAX_TOKENS",
}


def faults_of(stream: str) -> list[str]:
    """What is wrong with a stream, in words: all but its last event say no end, and no line is one that clients of this
    API would take for a part of an answer."""
    events = [json.loads(event) for event in data_of(stream)]
    wrong = [f"a line is {line!r}" for line in stream.split("\n") if line.strip() and not line.startswith("data: {")]
    ends = ["promptFeedback" in event or "finishReason" in event["candidates"][0] for event in events]
    if ends != [False] * (len(ends) - 1) + [True]:
        wrong.append(f"its ends are {ends}")
    if len({(event["modelVersion"], event["responseId"]) for event in events}) != 1:
        wrong.append("its events are of several answers")
    return wrong


def read(body: str, *, streamed: bool) -> ChatResponse:
    decoder = get_provider("gemini").stream_decoder()
    decoder.feed(body.encode())
    return decoder.close() if streamed else get_provider("gemini").decode_response(json.loads(body))


@pytest.mark.parametrize("name", NAMES)
def test_complete_and_streamed_answers_are_the_same(name: str):
    (_, status, whole), (_, streamed_status, stream) = (
        parts_of(TRANSCRIPTS / f"{name}.{form}.http") for form in ("whole", "stream")
    )
    if status != 200:
        assert name not in ENDS
        assert json.loads(stream) == json.loads(whole)
        assert json.loads(whole)["error"].keys() >= {"code", "message", "status"}
        return
    assert streamed_status == 200
    assert faults_of(stream) == []
    one, other = read(whole, streamed=False), read(stream, streamed=True)
    assert one.raw_stop_reason == other.raw_stop_reason == ENDS[name]
    assert (one.refusal, one.usage) == (other.refusal, other.usage)
    assert [(call.name, call.arguments) for call in one.tool_calls] == [
        (call.name, call.arguments) for call in other.tool_calls
    ]
    if ENDS[name] == "SAFETY":  # a stream cannot take back what it has said
        assert one.text == ""
    elif name != "gemini_interrupted_of_chat":  # where it breaks differs
        assert one.text == other.text


def chunk(reason: str | None = None, **more: str) -> str:
    ended = {"finishReason": reason} if reason else {}
    event = {"candidates": [{"content": {}, **ended}], "modelVersion": "m", "responseId": "1", **more}
    return f"data: {json.dumps(event)}\n\n"


@pytest.mark.parametrize(
    "broken",
    [
        chunk() + chunk(),
        chunk("STOP") + chunk("STOP"),
        chunk(responseId="2") + chunk("STOP"),
        chunk() + ": a comment\n\n" + chunk("STOP"),
    ],
)
def test_violations_of_the_contract_are_found(broken):
    assert faults_of(chunk() + "\n" + chunk("STOP")) == []
    assert faults_of(broken)
