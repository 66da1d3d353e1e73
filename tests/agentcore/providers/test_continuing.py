import pytest

from agentcore.messages import ChatRequest, Continuation
from agentcore.providers.wire.continuing import Going, by_hint_message, by_user_turn, interrupted, sent_extra


def request(text=None, hint="Go on.", **extra) -> ChatRequest:
    continuation = None if text is None else Continuation(text, hint)
    return ChatRequest("m", (), 10, continuation=continuation, extra=extra)


SENTENCE = "Your previous response was interrupted and ended with `So far`. Continue from there."


@pytest.mark.parametrize(
    ("asked", "going"),
    [
        (request(), Going()),
        (request(""), Going("Go on.")),
        (request("So far"), Going("Go on.", "So far", SENTENCE)),
        (request("So far", prefill=True), Going("", "So far", "")),
        (request("", prefill=True), Going("Go on.")),
    ],
)
def test_a_conversation_that_ends_with_the_user_is_gone_on_with_by_a_user_turn(asked, going):
    assert by_user_turn(asked) == going


@pytest.mark.parametrize(
    ("asked", "messages"),
    [
        (request(), []),
        (request(""), [("system", "Go on.")]),
        (request("So far"), [("assistant", "So far"), ("system", "Go on.")]),
        (request("So far", hint_role="user"), [("assistant", "So far"), ("user", "Go on.")]),
        (request("So far", hint_role=""), [("assistant", "So far"), ("system", "Go on.")]),
        (request("So far", hint=""), [("assistant", "So far")]),
        (request("So far", prefill=True), [("assistant", "So far")]),
    ],
)
def test_an_openai_style_conversation_gets_the_hint_as_a_message(asked, messages):
    assert by_hint_message(asked) == messages


def test_only_the_end_of_a_long_answer_is_quoted():
    assert len(interrupted("x" * 100_000)) < 400


def test_what_steers_the_codecs_is_not_sent():
    asked = request(hint_role="user", max_tokens_field="x", prefill=True, seed=1)
    assert sent_extra(asked) == {"seed": 1}
