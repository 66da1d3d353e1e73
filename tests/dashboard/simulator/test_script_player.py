"""The promise the whole demonstration rests on: however often an answer is cut, its parts join to the same text."""

import pytest

from agentcore.continuation_merge import Joining, join, merge_continuation
from dashboard.simulator import texts
from dashboard.simulator.script_player import (
    Call,
    CallOpened,
    CallPiece,
    ConnectionDropped,
    Ending,
    Finished,
    Script,
    TextPiece,
    fixed,
    overlap,
    speak,
)
from dashboard.simulator.texts import count_tokens, rest_of_list
from tests.together import together

ESSAY = Script(fixed(texts.ESSAY))
TOTAL = count_tokens(texts.ESSAY)


def answer(script: Script, said: str, budget: int) -> tuple[str, Finished]:
    *tokens, last = speak(script, said, budget)
    assert isinstance(last, Finished)
    assert last.tokens == len(tokens) <= budget
    return "".join(token.text for token in tokens if isinstance(token, TextPiece)), last


def answer_in_parts(script: Script, budget: int, most: int = 1000) -> tuple[str, list[int]]:
    """The merged text, and the tokens of each part, until the script ends or `most` parts are said."""
    text = ""
    spent: list[int] = []
    while len(spent) < most:
        part, last = answer(script, text, budget)
        merge = merge_continuation(text, part)
        text += part[merge.overlap or merge.ambiguous :]  # what may be a repeat is kept by a turn, and marked
        spent.append(last.tokens)
        if last.reason != Ending.LENGTH:
            break
        assert last.tokens == budget
    return text, spent


@together
@pytest.mark.parametrize("budget", range(1, TOTAL + 50))
def test_an_essay_truncated_at_any_budget_joins_to_the_same_text(budget: int) -> None:
    text, _ = answer_in_parts(ESSAY, budget)
    assert text == texts.ESSAY


@together
@pytest.mark.parametrize("budget", range(1, 60))
@pytest.mark.parametrize("said", [texts.REPORT, texts.SCRIPT, texts.FLAKY], ids=["json", "script", "flaky"])
def test_every_other_text_also_joins(said: str, budget: int) -> None:
    text, _ = answer_in_parts(Script(fixed(said)), budget)
    assert text == said


@together
@pytest.mark.parametrize("budget", [5, 13, 20, 21, 37, 60, 150])
def test_the_endless_list_joins_to_the_text_of_one_long_call(budget: int) -> None:
    text, spent = answer_in_parts(Script(rest_of_list), budget, most=100)
    whole, last = answer(Script(rest_of_list), "", sum(spent))
    assert last.reason == Ending.LENGTH
    assert whole.startswith(text)
    assert len(text) > 0.6 * len(whole)


@together
@pytest.mark.parametrize("budget", range(1, TOTAL + 2))
def test_an_answer_never_exceeds_its_budget_and_is_marked_when_truncated(budget: int) -> None:
    text, last = answer(ESSAY, "", budget)
    assert texts.ESSAY.startswith(text)
    assert (last.tokens, last.reason) == ((budget, Ending.LENGTH) if budget < TOTAL else (TOTAL, Ending.END))


def test_four_calls_of_60_are_not_enough_and_150_suffices_within_three() -> None:
    text, spent = answer_in_parts(ESSAY, 60, most=4)
    assert spent == [60, 60, 60, 60]
    assert texts.ESSAY.startswith(text)
    assert text != texts.ESSAY
    text, spent = answer_in_parts(ESSAY, 150)
    assert text == texts.ESSAY
    assert len(spent) == 3
    assert TOTAL < sum(spent) < 400


def test_a_continuation_first_repeats_a_few_whole_words() -> None:
    for length in range(20, len(texts.ESSAY)):
        before = texts.ESSAY[:length]
        lead = overlap(before, 100)
        assert before.endswith(lead)
        assert len(lead) >= 12
        assert before.removesuffix(lead)[-1:].strip() == ""
        assert 2 <= len(lead.split()) <= 12


def test_a_continuation_repeats_less_where_it_would_leave_too_little_for_new_words() -> None:
    before = texts.ESSAY[:303]
    leads = [overlap(before, budget) for budget in range(1, 40)]
    assert leads[0] == ""
    assert leads == sorted(leads, key=len)
    assert all(2 * count_tokens(lead) <= budget for budget, lead in enumerate(leads, start=1))
    assert len(set(leads)) > 2
    assert overlap("Agents", 100) == ""


def test_an_unknown_text_is_answered_from_the_start() -> None:
    text, _ = answer(ESSAY, "Bananas are yellow", 10)
    assert texts.ESSAY.startswith(text)


def test_a_text_that_ends_with_ours_is_continued() -> None:
    text, _ = answer(ESSAY, "Sure! " + texts.ESSAY[:100], 400)
    assert merge_continuation(texts.ESSAY[:100], text).text == texts.ESSAY


def test_a_finished_text_is_followed_by_nothing() -> None:
    assert list(speak(ESSAY, texts.ESSAY, 100)) == [Finished(Ending.END, 0)]


def test_calls_follow_the_text_and_count_against_the_budget() -> None:
    script = Script(fixed("Wait."), (Call("look", "{}"), Call("see", "{}")), Ending.CALLS)
    whole = list(speak(script, "", 100))
    assert whole == [
        TextPiece("Wait"),
        TextPiece("."),
        CallOpened(0, "look"),
        CallPiece(0, "{"),
        CallPiece(0, "}"),
        CallOpened(1, "see"),
        CallPiece(1, "{"),
        CallPiece(1, "}"),
        Finished(Ending.CALLS, 8),
    ]
    for budget in range(1, 8):
        assert list(speak(script, "", budget)) == [*whole[:budget], Finished(Ending.LENGTH, budget)]
    assert list(speak(script, "Wait.", 100)) == [*whole[2:-1], Finished(Ending.CALLS, 6)]


def test_a_script_that_hangs_up_sends_half() -> None:
    *tokens, last = speak(Script(fixed(texts.ESSAY), hangs_up=True), "", 100)
    assert last == ConnectionDropped()
    assert len(tokens) == 50


def test_after_a_kept_repeat_the_text_continues_to_its_end_from_any_position():
    for place in range(1, len(texts.ESSAY)):
        text, last = texts.ESSAY[:place], place
        for _ in range(2):
            *pieces, end = speak(ESSAY, text, 400)
            said = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
            text, last = join(text, said, Joining(said=last)).text, len(said)
        assert isinstance(end, Finished)
        assert end.reason is Ending.END, f"broken off after {place} characters it does not end"
        assert text.endswith(texts.ESSAY[-100:])
