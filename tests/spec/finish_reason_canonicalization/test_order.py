"""finish-reason-canonicalization: the order of a stream, as our own server of chat completions keeps it."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.dashboard.simulator.client import CALCULATOR, Answer, Client
from tests.spec.rules import rule

FINAL = "finish-reason-canonicalization §Acceptance 2"
ORDER = "finish-reason-canonicalization §Acceptance 3"

#: What to ask for each word with.
ASKED: Mapping[str, tuple[str, dict[str, Any]]] = {
    "stop": ("sim-script", {}),
    "length": ("sim-essay", {"max_tokens": 5}),
    "tool_calls": ("sim-tools", {"tools": [CALCULATOR]}),
    "content_filter": ("sim-refuse", {}),
}
Ask = Callable[..., Answer]
each_word = pytest.mark.parametrize("word", ASKED)


@pytest.fixture
def ask(simulator_url: str) -> Ask:
    """An answer of the simulator that ends in the word."""

    def answer(word: str, **body: Any) -> Answer:
        model, more = ASKED[word]
        return Client(urlsplit(simulator_url).port or 0).ask(model, **more, **body)

    return answer


@rule(FINAL, "Every chunk before the last has `finish_reason: null`")
@each_word
def test_only_the_last_chunk_has_a_reason(ask: Ask, word: str) -> None:
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in ask(word, stream=True).chunks]
    assert reasons == [None] * (len(reasons) - 1) + [word]


@rule(ORDER, "A stream has the role, the content, the reason, the usage if requested, and the end mark, in this order")
@each_word
@pytest.mark.parametrize("usage", [True, False])
def test_a_stream_keeps_its_order(ask: Ask, word: str, usage: bool) -> None:
    answer = ask(word, stream=True, stream_options={"include_usage": usage})
    first, *said = [chunk["choices"] for chunk in answer.chunks]
    assert first[0]["delta"]["role"] == "assistant"
    if usage:
        assert said.pop() == []
        assert answer.chunks[-1]["usage"]["completion_tokens"] > 0
    *content, last = said
    assert (last[0]["delta"], last[0]["finish_reason"]) == ({}, word)
    assert content
    assert all(choices[0]["delta"].keys() <= {"content", "tool_calls"} for choices in content)
    assert answer.body.endswith(b"data: [DONE]\n\n")


@rule(ORDER, "The representative cases end with the same word, complete or streamed")
@each_word
def test_a_complete_answer_ends_with_the_same_reason(ask: Ask, word: str) -> None:
    assert ask(word).reason == ask(word, stream=True).reason == word
