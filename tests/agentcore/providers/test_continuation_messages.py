from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore.messages import ChatRequest, Continuation
from agentcore.providers import get_provider
from agentcore.providers.wire.request_messages import (
    AFTER_MARKS,
    SPACE,
    Going,
    by_hint_message,
    by_user_turn,
    by_user_turn_trimmed,
    interrupted,
    sent_extra,
)
from tests.agentcore.playbook import Playbook, responded, started
from tests.together import together


def request(text=None, hint="Go on.", **extra) -> ChatRequest:
    continuation = None if text is None else Continuation(text, hint)
    return ChatRequest("m", (), 10, continuation=continuation, extra=extra)


SENTENCE = "Your previous response was interrupted and ended with `So far`. Continue from there."


@together
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
def test_a_conversation_that_ends_with_the_user_is_continued_by_a_user_turn(asked, going):
    assert by_user_turn(asked) == going


@together
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


SPACED = "Your next words are appended directly to `{}`. Begin with a space if a new word follows."


@together
@pytest.mark.parametrize(
    "text",
    ["Then we run", "It ends.", 'He said "so"', "1 2 3", "**bold**", "x = [1]", "a `b`", "5 %", "x =", "so —", "tak…"],
)
def test_the_hint_asks_for_a_leading_space_where_one_may_be_due_at_the_seam(text):
    asked = request(text, hint_space=AFTER_MARKS)
    said = f"Go on.\n{SPACED.format(text)}"
    assert by_hint_message(asked)[-1] == ("system", said)
    assert by_user_turn(asked).system == said
    assert "hint_space" not in sent_extra(asked)


@together
@pytest.mark.parametrize("text", ["Then we run ", "a\n", "東京", "x = [", "", "```", "a `", "«", "“"])
def test_the_hint_is_sent_alone_where_no_space_is_due(text):
    asked = request(text, hint_space=AFTER_MARKS)
    assert by_hint_message(asked)[-1] == ("system", "Go on.")
    assert by_user_turn(asked).system == "Go on."


@together
@pytest.mark.parametrize(("text", "asked_for"), [("we run", True), ("ends.", True), ("x = [1]", False), ("", False)])
def test_a_turn_of_an_earlier_release_is_requested_as_before(text, asked_for):
    said = f"Go on.\n{SPACED.format(text)}" if asked_for else "Go on."
    assert by_hint_message(request(text, hint_space=True))[-1] == ("system", said)


SAID = "We **run** a `loop` (once, or twice) — at 5 % of x = [1], “so” it said… and then: ends! café naïve"
ANSWERS = [  # where the text of an answer stands, by dialect
    ("openai", lambda text: {"choices": [{"finish_reason": "length", "message": {"content": text}}]}),
    ("anthropic", lambda text: {"stop_reason": "max_tokens", "content": [{"type": "text", "text": text}]}),
    ("gemini", lambda text: {"candidates": [{"finishReason": "MAX_TOKENS", "content": {"parts": [{"text": text}]}}]}),
    ("cohere", lambda text: {"finish_reason": "MAX_TOKENS", "message": {"content": [{"type": "text", "text": text}]}}),
    ("bedrock", lambda text: {"stopReason": "max_tokens", "output": {"message": {"content": [{"text": text}]}}}),
    ("ollama", lambda text: {"done": True, "done_reason": "length", "message": {"content": text}}),
    (
        "openai_responses",
        lambda text: {
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
            "output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}],
        },
    ),
]


def streamed_in_parts(dialect, body, words, cuts, begins_with_space) -> tuple[str, list[str]]:
    """The text that a provider has to say, cut after so many characters each time, as the product joins it; and what it
    sent. `begins_with_space(asked)`: whether a message of it may begin with a space."""
    codec, whole = get_provider(dialect), " ".join(words)
    story, sent, at = (
        Playbook(provider=dialect, extra={SPACE: AFTER_MARKS}, max_continuations=99, max_total_completion_tokens=9999)
        >> started(),
        [],
        0,
    )
    for length in [*cuts, len(whole)]:
        part = whole[at : at + length]
        if at and not begins_with_space("Begin with a space" in str(codec.encode_request(story.command.request))):
            part = part.lstrip(" ")
        at += length
        if part:
            sent.append(part)
            story = story >> responded(codec.decode_response(body(part)))
    return story.snapshot.output_text, sent


@pytest.mark.parametrize(("dialect", "body"), ANSWERS, ids=[dialect for dialect, _ in ANSWERS])
@given(st.permutations(SAID.split()), st.lists(st.integers(3, 40), max_size=6), st.randoms())
@settings(max_examples=25, deadline=None)
def test_words_stay_separated_at_seams_where_the_provider_follows_the_hint(dialect, body, words, cuts, chance):
    """One that begins with a space where it is asked to and one is due, one that never does, one that does by chance.
    Of each all that was sent stays, and nothing is added to it."""
    text, sent = streamed_in_parts(dialect, body, words, cuts, lambda asked: asked)
    assert (text, text.split()) == ("".join(sent), words)
    for other in (lambda asked: False, lambda asked: chance.random() < 0.5):
        text, sent = streamed_in_parts(dialect, body, words, cuts, other)
        assert text == "".join(sent)


def test_the_hint_for_a_broken_call_does_not_ask_for_a_leading_space():
    asked = replace(request(hint_space=AFTER_MARKS), continuation=Continuation("So far", "Go on.", repairs=True))
    assert by_hint_message(asked)[-1] == ("system", "Go on.")


def test_the_hint_quotes_only_the_end_of_a_long_last_line():
    assert len(by_hint_message(request("x" * 100_000, hint_space=AFTER_MARKS))[-1][1]) < 200


def test_only_the_end_of_a_long_answer_is_quoted():
    assert len(interrupted("x" * 100_000)) < 400


def test_codec_settings_are_not_sent():
    asked = request(hint_role="user", max_tokens_field="x", prefill=True, seed=1)
    assert sent_extra(asked) == {"seed": 1}


CAN = ["claude-x", "claude-opus-4-5", "claude-sonnet-4-20250514", "claude-3-5-sonnet-20241022", "claude-haiku-4-5-1"]
CAN += ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-pro-v1:0", "claude-sonnet-4-5@20250929"]
CANNOT = [
    "claude-opus-4-6",
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-sonnet-4-6",
    "claude-sonnet-5",
]
CANNOT += ["claude-haiku-5-5", "claude-fable-5", "claude-mythos-5-1", "claude-mythos-preview", "Claude-Opus-4-6"]
CANNOT += ["global.anthropic.claude-opus-4-6-v1:0", "arn:aws:bedrock:us-east-1:1:x/anthropic.claude-sonnet-5-v1:0"]


@together
@pytest.mark.parametrize(("model", "can"), [*((name, True) for name in CAN), *((name, False) for name in CANNOT)])
def test_a_claude_model_that_rejects_prefill_is_continued_by_a_user_turn(model, can):
    asked = replace(request("So far ", prefill=True), model=model)
    going = by_user_turn_trimmed(asked)
    assert (going.assistant, bool(going.user)) == (("So far", False) if can else ("So far ", True))


@pytest.mark.parametrize("type", ["enabled", "adaptive"])
def test_a_claude_model_that_reasons_gets_no_prefill(type):
    for extra in ({"thinking": {"type": type}}, {"additionalModelRequestFields": {"thinking": {"type": type}}}):
        assert by_user_turn_trimmed(request("So far", prefill=True, **extra)).user == SENTENCE
    assert not by_user_turn_trimmed(request("So far", prefill=True, thinking={"type": "disabled"})).user


def test_a_broken_call_is_requested_by_a_hint_even_where_text_could_be_prefilled():
    asked = replace(request(prefill=True), continuation=Continuation("So far", "Go on.", repairs=True))
    assert by_user_turn(asked) == by_user_turn_trimmed(asked) == Going("Go on.", "So far", SENTENCE)
    assert by_hint_message(asked) == [("assistant", "So far"), ("system", "Go on.")]
