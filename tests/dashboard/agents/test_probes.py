"""What an answer to a test shows: never that a server continues which only chats on."""

import pytest

from agentcore.messages import ChatResponse, TokenUsage
from agentcore.reasons import NormalizedStopReason
from dashboard.agents.probes import CAP, CASES, Case, Finding, both, judged, request_of, ways_of
from tests.together import together

DAYS, MONTHS = CASES
CUT = NormalizedStopReason.MAX_TOKENS


def answer(
    text: str, tokens: int | None = CAP, reason: NormalizedStopReason = NormalizedStopReason.MAX_TOKENS
) -> ChatResponse:
    return ChatResponse(text, usage=None if tokens is None else TokenUsage(0, tokens), stop_reason=reason)


@together
@pytest.mark.parametrize(
    ("case", "text", "finding"),
    [
        (DAYS, "day, Thursday, Friday", Finding.CONTINUES),
        (DAYS, "day, T", Finding.CONTINUES),
        (DAYS, "day", Finding.UNKNOWN),
        (DAYS, "Wednesday, Thursday", Finding.IGNORES),
        (DAYS, "Monday, Tuesday, Wednesday", Finding.IGNORES),
        (DAYS, "", Finding.UNKNOWN),
        (MONTHS, " March, April, May", Finding.CONTINUES),
        (MONTHS, "March, April, May", Finding.IGNORES),
        (MONTHS, "January, February, March", Finding.IGNORES),
        (MONTHS, "February, March", Finding.IGNORES),
    ],
)
def test_only_an_exact_continuation_including_whitespace_counts_as_one(case: Case, text: str, finding: Finding) -> None:
    assert judged(case, answer(text)) is finding


@together
@pytest.mark.parametrize(
    "text",
    [
        "Here is the list: {0}, {1}",
        "Here are they, in order, again and again, separated by",
        "Sure! Here are the names",
        "Sure, here's the list:\n\n{0}",
        "Certainly! {0}, {1}",
        "Of course. {0}",
        "Okay, continuing: {2}",
        "OK! {0}",
        "I'll continue the list: {2}",
        "I’m sorry, but I cannot repeat that",
        "I cannot write them again and again.",
        "It looks like your message was cut off",
        "Your list so far is right.",
        "The list goes on like this:",
        "Let me go on: {2}, {3}",
        "Let's go on",
        "This is the list you asked for",
        "You asked for a list",
        "1. {0}\n2. {1}",
        "- {0}\n- {1}",
        "* {0}",
        "**{0}**, **{1}**",
        '"{0}, {1}',
        "“{0}, {1}",
        "```\n{0}, {1}",
        "# {0}",
        "{0}, {1}, {2}",
        "{2}, {3}",
        "{3}, {0}",
        "Yes: {0}",
        "\n\n{0}, {1}",
        "…and so on: {0}",
    ],
)
@pytest.mark.parametrize(
    ("case", "items"),
    [
        (DAYS, ("Monday", "Tuesday", "Wednesday", "Thursday")),
        (MONTHS, ("January", "February", "March", "April")),
    ],
    ids=["days", "months"],
)
def test_a_restarted_answer_is_detected_with_any_introduction(case: Case, items: tuple[str, ...], text: str) -> None:
    assert judged(case, answer(text.format(*items))) is Finding.IGNORES


@together
@pytest.mark.parametrize(
    ("case", "text"),
    [
        (DAYS, ""),
        (DAYS, "day"),
        (DAYS, "day\n\nMonday, Tuesday"),
        (DAYS, "day. Here is more"),
        (DAYS, "dayThursday"),
        (DAYS, "xq zz"),
        (DAYS, ", , ,"),
        (DAYS, "日本語"),
        (MONTHS, " "),
        (MONTHS, " April, May"),
        (MONTHS, " March\n\nHere is"),
        (MONTHS, " and so on"),
        (MONTHS, "ctober"),
    ],
)
def test_a_possibly_inexact_continuation_is_inconclusive(case: Case, text: str) -> None:
    assert judged(case, answer(text)) is Finding.UNKNOWN


def test_repeated_text_is_an_echo_only_where_the_model_cannot_have_written_it() -> None:
    echo = DAYS.said + "day, Thursday, Fri"
    assert judged(DAYS, answer(echo)) is Finding.ECHOES
    assert judged(DAYS, answer(echo, None)) is Finding.ECHOES
    assert judged(DAYS, answer(echo, 90)) is Finding.UNKNOWN, "the cap was not kept to"
    assert judged(DAYS, answer(echo, None, NormalizedStopReason.END_TURN)) is Finding.UNKNOWN
    assert judged(DAYS, answer(DAYS.said)) is Finding.UNKNOWN
    assert judged(DAYS, answer(echo + ", Friday" * 90)) is Finding.UNKNOWN


def test_contradictory_answers_are_inconclusive() -> None:
    assert both([Finding.CONTINUES, Finding.CONTINUES]) is Finding.CONTINUES
    assert both([Finding.CONTINUES, Finding.ECHOES]) is Finding.UNKNOWN
    assert both([Finding.CONTINUES, Finding.IGNORES]) is Finding.UNKNOWN


def test_no_list_can_be_written_within_the_cap() -> None:
    longest_token = 16  #: characters
    assert all(len(case.said) > CAP * longest_token for case in CASES)
    assert all(not case.said.endswith(" ") for case in CASES), "Claude refuses blanks at the end"


@together
@pytest.mark.parametrize(
    ("provider", "model", "ways"),
    [
        ("openai", "any", ("prefill", "continue_final_message", "prefix")),
        ("ollama", "any", ("prefill",)),
        ("anthropic", "claude-haiku-4-5", ("prefill",)),
        ("anthropic", "claude-opus-4-7", ()),
        ("cohere", "any", ()),
        ("openai_responses", "any", ()),
    ],
)
def test_only_methods_the_dialect_and_vendor_accept_are_tried(provider: str, model: str, ways: tuple[str, ...]) -> None:
    assert ways_of(provider, model) == ways


def test_a_probe_is_sent_alone_or_with_the_answer_so_far() -> None:
    assert request_of(DAYS, "any", {}, None).continuation is None
    asked = request_of(DAYS, "any", {"hint_role": "user"}, "prefix")
    assert asked.continuation is not None
    assert (asked.continuation.text, asked.extra) == (DAYS.said, {"hint_role": "user", "prefix": True})
