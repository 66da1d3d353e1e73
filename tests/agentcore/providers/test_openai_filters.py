"""Azure's content filters: a block that no stop reason has to name."""

import json

import pytest

from agentcore.providers import get_provider
from agentcore.providers.openai.answer import was_filtered
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

AZURE = get_provider("openai")
BLOCKED = {"hate": {"filtered": True, "severity": "high"}, "sexual": {"filtered": False, "severity": "safe"}}
PASSED = {"hate": {"filtered": False, "severity": "safe"}, "jailbreak": {"filtered": False, "detected": True}}


def chunk(**choice):
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "finish_reason": None, **choice}]}


def stream(*payloads):
    decoder = AZURE.stream_decoder()
    decoder.feed(b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in payloads))
    return decoder.close()


@together
@pytest.mark.parametrize(
    ("results", "blocked"),
    [
        (BLOCKED, True),
        (PASSED, False),
        ([{"prompt_index": 0, "content_filter_results": BLOCKED}], True),
        ([{"prompt_index": 0, "content_filter_results": PASSED}], False),
        ({}, False),
        (None, False),
        ("x", False),
        ([None, "x", {"content_filter_results": [1]}], False),
        ({"hate": None, "error": {"code": "content_filter_error"}, "x": {"filtered": "true"}}, False),
    ],
)
def test_only_a_filter_that_blocked_counts(results, blocked):
    assert was_filtered(results) is blocked


def test_the_text_of_a_blocked_answer_is_kept():
    response = stream(chunk(delta={"content": "So"}), chunk(finish_reason="content_filter", delta={}))
    assert (response.text, response.stop_reason) == ("So", Reason.SAFETY_BLOCKED)


def test_an_asynchronous_filter_that_blocks_after_the_natural_end_overrides_it():
    response = stream(
        chunk(delta={"content": "So"}),
        chunk(delta={}, finish_reason="stop"),
        chunk(content_filter_results=BLOCKED, content_filter_offsets={"check_offset": 0}),
    )
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("So", Reason.SAFETY_BLOCKED, "stop")
    assert response.reason_trail[-1].source == "content_filter_results"
    assert "relabelled" in response.diagnostics


def test_annotations_that_block_nothing_change_nothing():
    prompt = {"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": PASSED}]}
    response = stream(
        prompt, chunk(delta={"content": "So"}, content_filter_results=PASSED), chunk(finish_reason="stop")
    )
    assert (response.text, response.stop_reason, response.diagnostics) == ("So", Reason.END_TURN, ())


def test_a_blocked_prompt_without_any_choice_is_a_block():
    prompt = {"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": BLOCKED}]}
    assert stream(prompt).stop_reason is Reason.SAFETY_BLOCKED
