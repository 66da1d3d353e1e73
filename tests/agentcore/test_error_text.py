"""Whose refusal an answer is: the model's own words, a classifier's category, or nothing that tells."""

from dataclasses import replace
from typing import Any

import pytest

from agentcore.error_text import Refuser, refuser_of
from agentcore.messages import ChatResponse, TokenUsage
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason
from agentcore.verdict import verdict
from tests.agentcore.playbook import Playbook, responded, started
from tests.together import together

BLOCKED = NormalizedStopReason.SAFETY_BLOCKED
HELPS = "Higher limits would not have helped."


def anthropic(*, text: str = "", output: int = 0, word: str = "refusal", **details: Any) -> ChatResponse:
    content = [{"type": "text", "text": text}] if text else []
    message = {
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": content,
        "stop_reason": word,
        "stop_details": {"type": "refusal", "category": None, **details},
        "usage": {"input_tokens": 20, "output_tokens": output},
    }
    return get_provider("anthropic").decode_response(message)


def openai(word: str = "stop", refusal: str | None = "I cannot help with that.") -> ChatResponse:
    message = {"role": "assistant", "content": None, "refusal": refusal}
    body = {
        "object": "chat.completion",
        "model": "gpt",
        "choices": [{"index": 0, "message": message, "finish_reason": word}],
    }
    return get_provider("openai").decode_response(body)


def ended(response: ChatResponse, **asked: Any) -> Playbook:
    return Playbook(**asked) >> started() >> responded(response)


@together
@pytest.mark.parametrize(
    ("response", "refuser"),
    [
        (openai(), Refuser.MODEL),
        (openai("refusal"), Refuser.MODEL),
        (openai("content_filter"), None),
        (openai("refusal", None), Refuser.UNTOLD),
        (anthropic(category="cyber", explanation="No."), Refuser.CLASSIFIER),
        (anthropic(category="a newer one", text="Well", output=3), Refuser.CLASSIFIER),
        (anthropic(), Refuser.CLASSIFIER),  # before the answer began: nothing is shown, and nothing is billed
        (anthropic(explanation="No."), Refuser.CLASSIFIER),
        (anthropic(output=8), Refuser.UNTOLD),
        (anthropic(text="Well", output=3), Refuser.UNTOLD),
        (anthropic(text="Well", output=3, explanation="No."), Refuser.UNTOLD),
        (ChatResponse("", refusal="cyber", usage=TokenUsage(1, 9)), Refuser.CLASSIFIER),  # stored by earlier releases
        (ChatResponse("Well", usage=TokenUsage(1, 9)), Refuser.UNTOLD),
    ],
)
def test_a_refusal_is_attributed_to_the_party_the_answer_shows(response: ChatResponse, refuser: Refuser | None):
    if not response.raw_stop_reason:
        response = replace(response, raw_stop_reason="refusal", stop_reason=BLOCKED)
    assert refuser_of(ended(response).snapshot) is refuser


def test_the_raw_reason_of_a_refusal_is_kept_beside_its_category():
    response = anthropic(category="cyber")
    assert (response.stop_reason, response.raw_stop_reason) == (BLOCKED, "refusal")
    assert [(seen.source, seen.raw) for seen in response.reason_trail][:2] == [
        ("stop_reason", "refusal"),
        ("stop_details", "cyber"),
    ]
    assert max(response.reason_trail, key=lambda seen: seen.priority).source == "stop_reason"


@together
@pytest.mark.parametrize(
    ("response", "words"),
    [
        (openai(), "Refused by the model."),
        (anthropic(category="cyber"), "Refused by a safety classifier of the provider."),
        (
            anthropic(text="Well", output=3),
            "Refused by the model or by a filter of the provider; the answer does not say which.",
        ),
    ],
)
def test_the_verdict_claims_no_more_about_a_refusal_than_the_answer_shows(response: ChatResponse, words: str):
    assert verdict(ended(response).snapshot) == f"{words} {HELPS}"
