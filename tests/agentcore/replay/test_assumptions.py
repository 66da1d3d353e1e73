"""What the recording does not show is assumed: whether reasoning counts, whether kept words are a repeat."""

from typing import Any

import pytest

from agentcore import Certainty, Experience, TokenUsage, verify, what_if
from agentcore.events import Event
from agentcore.messages import ChatResponse
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Assumed, Observed, Pace, WhatIf, fold
from agentcore.replay.assumptions import SHARE
from agentcore.replay.pace import seconds_at
from agentcore.replay.recorded_run import Past
from agentcore.values import replace
from agentcore.verdict import verdict
from tests.agentcore.playbook import Playbook, broken, ended, error, responded, started, truncated, worded

UNKNOWN = Experience()

TOLD_ALL = Experience(reports_all=True)  #: stored calls were cut at just what they reported


def asked(story: Playbook, experience: Experience = UNKNOWN, **changes: Any) -> WhatIf:
    tokens = changes.pop("max_tokens", story.policy.max_tokens)
    policy = replace(story.policy, max_tokens=tokens, limits=replace(story.policy.limits, **changes))
    return what_if(story.recording, policy, experience=experience)


def thought(text: str, output: int, reasoning: int, *, cut: bool = False) -> Event:
    reason = NormalizedStopReason.MAX_TOKENS if cut else NormalizedStopReason.END_TURN
    used = TokenUsage(10, output, reasoning, no_reasoning=not reasoning or None)
    return responded(ChatResponse(text, usage=used, stop_reason=reason, raw_stop_reason="length" if cut else "stop"))


def names(imagined: WhatIf) -> set[Assumed]:
    return {assumption.name for assumption in imagined.assumes}


def test_an_answer_that_fits_with_its_reasoning_does_not_show_whether_reasoning_counts_towards_the_cap():
    """40 tokens of reasoning and 5 of text under a cap of 128; at 20 it is whole, or cut in its thinking."""
    story = Playbook(max_tokens=128, max_continuations=0) >> started() >> thought("The answer is 42.", 45, 40)
    imagined = asked(story, max_tokens=20)
    assert imagined.certainty is Certainty.UNDECIDABLE
    assert Assumed.REASONING in names(imagined)
    assert [one.final.end.status.value for one in imagined.endings] == ["completed", "partial"]
    assert asked(story, TOLD_ALL, max_tokens=50).certainty is Certainty.CERTAIN
    assert asked(story, max_tokens=50).certainty is Certainty.ESTIMATED


@pytest.mark.parametrize(("counts", "status"), [(True, "partial"), (False, "completed")])
def test_stored_calls_of_the_model_show_whether_its_reasoning_counts(counts: bool, status: str):
    story = Playbook(max_tokens=128, max_continuations=0) >> started() >> thought("The answer is 42.", 45, 40)
    imagined = asked(story, Experience(counts_reasoning=counts), max_tokens=20)
    assert (imagined.certainty, imagined.final.end.status.value) == (Certainty.ESTIMATED, status)


def test_stored_continuations_show_nothing_about_a_request_repeated_unchanged():
    """300 tokens of reasoning and 18 of text under 600: at 100, then 200, all of it is eaten if it thinks as long."""
    story = Playbook(max_tokens=600) >> started() >> thought(worded("a", 18), 318, 300)
    none = Experience(reasoning=Observed(0.0, 40), counts_reasoning=True)
    imagined = asked(story, none, max_tokens=100)
    assert imagined.certainty is Certainty.UNDECIDABLE
    assert {one.final.end.terminal_reason for one in imagined.endings} == {"completed", "repetition"}
    assert asked(story, none, max_tokens=299).final.end.terminal_reason == "completed", "598 are enough for both"


def test_an_answer_truncated_at_its_cap_shows_that_its_reasoning_counted():
    book = Playbook(max_tokens=50, max_continuations=1, extra={"prefill": True})
    story = book >> started() >> thought("The answer ", 50, 40, cut=True) >> thought("is 42.", 45, 40)
    assert not Past.of(story.recording).uncounted
    assert asked(story, max_tokens=20, max_continuations=0).final.end.output_text == ""


def test_a_truncated_answer_of_more_tokens_than_its_cap_shows_that_its_reasoning_did_not_count():
    book = Playbook(max_tokens=100, max_continuations=0)
    story = book >> started() >> thought("word " * 100, 220, 120, cut=True)
    assert Past.of(story.recording).uncounted
    imagined = asked(story, max_tokens=1)
    assert imagined.certainty is not Certainty.UNDECIDABLE
    assert imagined.final.end.output_text
    assert imagined.final.spent.output_tokens == 121


def test_evidence_about_reasoning_from_one_call_applies_to_the_whole_turn():
    book = Playbook(max_tokens=100, max_continuations=1, extra={"prefill": True})
    story = book >> started() >> thought("word " * 100, 220, 120, cut=True) >> thought("end", 121, 120)
    assert [one.tokens for one in Past.of(story.recording).attempts.values()] == [100, 1]
    assert asked(story, max_tokens=106).certainty is Certainty.ESTIMATED


def test_text_kept_at_a_seam_may_be_a_repeat_and_both_readings_are_tried():
    text = "w000000 w000001 w000"
    story = Playbook(max_tokens=5, max_continuations=1) >> started() >> truncated(text, tokens=5)
    story = story >> truncated(text, tokens=5)
    assert story.snapshot.output_text == 2 * text
    imagined = asked(story, max_tokens=10, max_continuations=0)
    assert imagined.undecidable
    assert Assumed.REPEATS in names(imagined)
    within = asked(story, max_tokens=3, max_continuations=0)
    assert within.final.end.output_text == text[:12]


def test_visible_reasoning_uses_tokens_even_where_none_are_reported():
    book = Playbook(max_tokens=64, max_continuations=3)
    said = ChatResponse("word " * 26, stop_reason=NormalizedStopReason.MAX_TOKENS, reasoning_content="hm, " * 40)
    story = book >> started() >> responded(said) >> ended("done.", tokens=None)
    imagined = asked(story, max_tokens=10)
    assert Assumed.REASONING in names(imagined)
    assert imagined.undecidable or imagined.final.end.terminal_reason == "repetition"


def test_a_broken_call_uses_tokens_even_where_none_are_reported():
    said = ChatResponse("word", stop_reason=NormalizedStopReason.TOOL_CALL, broken_tool_calls=(broken_call(400),))
    story = Playbook(max_tokens=400, max_tool_repair_attempts=0) >> started() >> responded(said)
    (taken,) = (one for one in asked(story, max_tokens=200).assumes if one.name is Assumed.USAGE)
    assert taken.high > 200


def broken_call(characters: int) -> Any:
    return replace(broken(), raw="x" * characters)


def test_the_duration_of_an_unrecorded_call_is_assumed_where_time_is_limited():
    """At twice the recorded pace it would still be in time, and another call may be slower than that."""
    cut, end = (
        replace(event, at=at) for at, event in ((1.0, truncated(worded("a", 20), tokens=20)), (2.0, ended("the end")))
    )
    book = Playbook(max_tokens=20, max_seconds=10.0, extra={"prefill": True})
    story = book >> started() >> cut >> end
    imagined = asked(story, max_tokens=40)
    assert (imagined.certainty, names(imagined)) == (Certainty.ESTIMATED, {Assumed.SECONDS})
    assert verdict(story.snapshot) == "Completed after 1 continuation."


def test_an_unrecorded_call_is_assumed_not_to_fail():
    story = Playbook(max_tokens=100, extra={"prefill": True}) >> started() >> ended("word " * 40, tokens=50)
    imagined = asked(story, max_tokens=20)
    assert Assumed.FAILURES in names(imagined)
    assert imagined.certainty is Certainty.ESTIMATED


@pytest.mark.parametrize("begun", ["The answer to everything there is, ", "what was "])
def test_nothing_is_certain_where_all_text_repeats_because_the_model_may_have_restarted(begun):
    """As an echo it costs nothing; as a new beginning it was paid for."""
    book = Playbook(max_tokens=6, extra={"prefill": True})
    story = book >> started() >> truncated(begun, tokens=6) >> ended(begun + "said.", tokens=5)
    assert "13" not in verdict(story.snapshot)
    assert asked(story, max_tokens=13).certainty.rank >= Certainty.ESTIMATED.rank
    known = Playbook(max_tokens=6, extra={"prefill": True, "prefill_echo": True})
    told = known >> started() >> truncated(begun, tokens=6) >> ended(begun + "said.", tokens=5)
    assert "16" in verdict(told.snapshot)
    assert asked(told, max_tokens=16).certainty is Certainty.CERTAIN


def test_tokens_not_explained_by_the_visible_text_were_spent_on_reasoning():
    """400 tokens were counted for 17 characters, and none of them reported as reasoning."""
    story = Playbook(max_tokens=1000, max_continuations=0) >> started() >> thought("The answer is 42.", 400, 0)
    assert asked(story, max_tokens=405).certainty is Certainty.CERTAIN
    smaller = asked(story, max_tokens=300)
    assert (smaller.certainty, smaller.final.end.status.value) == (Certainty.ESTIMATED, "partial")
    assert not smaller.final.answer.text, "the cap falls within its reasoning"
    assert {(one.low, one.high) for one in smaller.assumes if one.name is Assumed.REASONING} == {(383.0, 397.96)}


def test_if_one_answer_hides_its_reasoning_other_answers_of_the_turn_may_do_so():
    story = Playbook(max_tokens=400, max_continuations=3, extra={"prefill": True}) >> started()
    story = story >> thought("One sentence of text. " * 10, 400, 0, cut=True) >> thought("And the last of it.", 60, 0)
    assert all(heard.veiled for heard in Past.of(story.recording).attempts.values())
    assert asked(story, max_tokens=100).certainty.rank >= Certainty.ESTIMATED.rank


def test_an_answer_in_multi_byte_characters_hides_no_reasoning():
    story = Playbook(max_tokens=100) >> started() >> thought("日本語で書かれた答えです。", 16, 0)
    assert not Past.of(story.recording).attempts[1].veiled


def test_a_recorded_answer_is_not_reused_for_an_unrecorded_request():
    """Asked once more in the same words, a model may keep to the schema: a second retry is not the first one again."""
    book = Playbook(max_tokens=60, schema_rounds=1, envelope_schema={"type": "object", "required": ["a"]})
    story = book >> started() >> thought('{"b": 1}', 5, 0) >> thought('{"b": 2}', 5, 0)
    assert asked(story, max_tokens=50).certainty is Certainty.CERTAIN
    assert asked(story, schema_rounds=3).undecidable


def test_after_a_whitespace_answer_the_model_restarted_and_the_text_of_one_call_is_not_certain():
    story = Playbook(max_tokens=1, extra={"prefill": True}) >> started() >> truncated("    ", tokens=1)
    story = story >> truncated("    if ", tokens=2) >> ended("x:", tokens=1)
    assert asked(story, max_tokens=100).certainty.rank >= Certainty.ESTIMATED.rank


def test_a_cut_within_leading_whitespace_may_or_may_not_show_a_word():
    """Where nothing is shown the call is made once more, with twice the cap, and not gone on with."""
    story = Playbook(max_tokens=400) >> started() >> ended("        return None\n" * 4, tokens=8)
    imagined = asked(story, max_tokens=1)
    assert [one.final.end.terminal_reason for one in imagined.endings] == ["budget_exhausted", "retry_limit"]


def test_visible_reasoning_may_not_fit_a_smaller_cap_where_no_tokens_are_reported():
    said = ChatResponse("That is all.", stop_reason=NormalizedStopReason.END_TURN, reasoning_content="hm. " * 150)
    story = Playbook(max_tokens=400, max_continuations=0) >> started() >> responded(said)
    assert asked(story, max_tokens=25).undecidable


def test_token_dense_text_may_hide_reasoning():
    """241 tokens for 420 characters: prose takes 105, and digits might take all of them."""
    story = Playbook(max_tokens=1000, max_continuations=3) >> started() >> thought("1, 22, 3.5; " * 35, 241, 0)
    assert asked(story, max_tokens=246).certainty is Certainty.CERTAIN
    smaller = asked(story, max_tokens=8)
    assert smaller.undecidable
    assert Assumed.REASONING in names(smaller)
    assert len(smaller.endings) == 2


def test_a_connection_that_broke_after_some_time_may_have_used_tokens():
    story = Playbook(max_tokens=8000) >> started() >> error(kind="connection", tokens=0)
    slow = replace(story.records[1].event, at=story.records[0].event.at + 30.0)
    late = Playbook(max_tokens=8000) >> started() >> slow
    assert asked(story, max_tokens=1000).certainty is Certainty.ESTIMATED
    assert asked(late, max_tokens=1000).undecidable
    assert asked(late, max_tokens=9000).certainty is Certainty.ESTIMATED


@pytest.mark.parametrize(("window", "decided"), [(None, True), (1000, True), (300, False)])
def test_a_window_of_known_size_may_fill_before_a_continuation_is_complete(window, decided):
    book = Playbook(max_tokens=200, max_continuations=5, context_window=window, extra={"prefill": True})
    imagined = asked(book >> started() >> ended("Some words more. " * 35, tokens=150), max_tokens=60)
    assert imagined.undecidable is not decided


def test_a_window_found_full_reveals_its_size():
    full = NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED
    said = ChatResponse("Some words more. " * 35, usage=TokenUsage(100, 150), stop_reason=full)
    story = Playbook(max_tokens=200) >> started() >> responded(said)
    assert Past.of(story.recording).window == 250
    assert asked(story, max_tokens=60).undecidable


@pytest.mark.parametrize(("cap", "decided"), [(20, False), (60, True)])
def test_a_call_of_few_tokens_may_consist_of_unreported_reasoning(cap: int, decided: bool):
    """Of 160 tokens a quarter may be; a server that reports no reasoning said 80 tokens and was empty at 5, twice."""
    book = Playbook(max_tokens=400, max_continuations=1, extra={"prefill": True})
    story = book >> started() >> ended(worded("one", 160), tokens=160)
    imagined = asked(story, max_tokens=cap, max_continuations=2)
    assert imagined.undecidable is not decided
    if not decided:
        assert [one.final.end.terminal_reason for one in imagined.endings] == ["retry_limit", "repetition"]


@pytest.mark.parametrize(("cap", "decided"), [(240, False), (250, True)])
def test_an_answer_that_ended_soon_after_a_hint_may_be_much_longer_in_one_call(cap: int, decided: bool):
    """A model of 110 tokens in one go was cut at 33, asked to go on, and said 5 more."""
    story = (
        Playbook(max_tokens=33)
        >> started()
        >> truncated(worded("one", 33), tokens=33)
        >> ended(worded("two", 5), tokens=5)
    )
    imagined = asked(story, max_tokens=cap)
    assert (imagined.certainty is Certainty.ESTIMATED) is decided
    assert names(imagined) >= {Assumed.WORDING}


def test_text_after_a_hint_may_be_a_quarter_shorter_in_one_call():
    story = Playbook(max_tokens=400, max_continuations=1) >> started() >> ended(worded("one", 200), tokens=200)
    assert asked(story, max_tokens=92).undecidable, "108 tokens are left for 92, or 81"
    assert asked(story, max_tokens=70).certainty is Certainty.ESTIMATED


def test_a_model_may_reason_only_before_its_first_words():
    """With no reasoning, and with much of it in every call, the budget is used up; with much in the first alone it is
    not."""
    text = "1, 22, 3.5; " * 48
    story = Playbook(max_tokens=400, extra={"prefill": True}) >> started() >> ended(text, tokens=391)
    imagined = asked(story, max_tokens=150, max_total_completion_tokens=300)
    assert imagined.undecidable
    assert {one.final.end.terminal_reason for one in imagined.endings} == {"budget_exhausted", "completed"}


@pytest.mark.parametrize("reported", [0, 50])
@pytest.mark.parametrize("cap", [31, 40, 60, 100])
def test_an_answer_truncated_below_its_cap_shows_that_other_answers_may_have_unreported_tokens(reported, cap):
    """What it spent up to its cap was not reported; so the 30 tokens of the next answer may not be all of it."""
    story = Playbook(max_tokens=200) >> started() >> truncated(tokens=reported)
    story = story >> ended("Thirty tokens of text. " * 7, tokens=30)
    imagined = asked(story, max_tokens=cap)
    assert imagined.certainty.rank >= Certainty.ESTIMATED.rank
    assert Assumed.REASONING in names(imagined)
    assert [one.final.end.terminal_reason for one in imagined.endings] == ["completed", "repetition"]
    assert asked(story).certainty is Certainty.RECORDED


def test_an_outcome_that_is_the_same_for_any_number_of_unreported_tokens_is_estimated():
    story = Playbook(max_tokens=200) >> started() >> truncated(tokens=0)
    story = story >> ended("Thirty tokens of text. " * 7, tokens=30)
    imagined = asked(story, max_tokens=10, max_continuations=1)
    assert (imagined.certainty, imagined.final.end.terminal_reason) == (Certainty.ESTIMATED, "retry_limit")
    assert Assumed.REASONING in names(imagined)


@pytest.mark.parametrize(("window", "certainty"), [(60, Certainty.ESTIMATED), (1000, Certainty.UNDECIDABLE)])
def test_a_full_context_window_shows_nothing_about_other_answers(window: int, certainty: Certainty):
    story = Playbook(max_tokens=200, context_window=window) >> started() >> truncated(tokens=50)
    story = story >> thought("Thirty tokens of text. " * 7, 30, 0)
    assert asked(story, Experience(reports_all=True), max_tokens=40).certainty is certainty


def test_unreported_tokens_shown_by_a_parents_call_also_apply_to_a_fork():
    parent = Playbook(max_tokens=200) >> started() >> truncated(worded("one", 50), tokens=50)
    child = parent >> thought(worded("two", 30), 30, 0)
    records = child.recording.records[len(parent.records) :]
    fork = replace(child.recording, base_snapshot=parent.snapshot, records=records)
    smaller = replace(child.policy, max_tokens=100)
    assert what_if(fork, smaller).certainty not in (Certainty.RECORDED, Certainty.CERTAIN)
    unknowing = replace(fork, base_snapshot=replace(parent.snapshot, veiled=None))
    assert what_if(unknowing, smaller).certainty is Certainty.CERTAIN


def test_no_number_is_given_for_a_provider_that_counts_unreported_tokens():
    book = Playbook(max_tokens=200, max_continuations=4, extra={"prefill": True}) >> started()
    story = book >> truncated(tokens=0) >> truncated(worded("a", 400), tokens=400) >> ended("the end", tokens=3)
    assert story.snapshot.veiled
    assert "max_tokens" not in verdict(story.snapshot)
    assert asked(story, max_tokens=404).certainty.rank >= Certainty.ESTIMATED.rank


def test_reported_reasoning_of_one_call_proves_nothing_about_a_call_without_a_report():
    book = Playbook(max_tokens=600, schema_rounds=1, envelope_schema={"type": "object", "required": ["a"]})
    one, other = ended('{"b": 1, "c": "and more of it"}', tokens=45), thought('{"a": 2}', 105, 100)
    assert asked(book >> started() >> one >> other, max_tokens=120).certainty is not Certainty.CERTAIN
    one = thought('{"b": 1, "c": "and more of it"}', 45, 30)
    imagined = asked(book >> started() >> one >> other, TOLD_ALL, max_tokens=120)
    assert imagined.certainty is Certainty.ESTIMATED
    assert {one.source for one in imagined.assumes} == {SHARE}


@pytest.mark.parametrize("reported", [99, 101])
def test_nothing_more_is_certain_where_truncated_answers_report_a_count_other_than_their_cap(reported: int):
    story = Playbook(max_tokens=100, extra={"prefill": True}) >> started() >> truncated("word " * 100, tokens=reported)
    story = story >> truncated("word " * 100, tokens=reported) >> ended("word " * 40, tokens=40)
    assert asked(story, max_tokens=90).certainty is not Certainty.CERTAIN
    assert asked(story, max_tokens=110).certainty is not Certainty.CERTAIN
    assert asked(story).certainty is Certainty.RECORDED


def shown(text: str, output: int, *, cut: bool = False) -> Event:
    """51 tokens of thinking that is shown, and not counted apart from the text."""
    reason = NormalizedStopReason.MAX_TOKENS if cut else NormalizedStopReason.END_TURN
    used = TokenUsage(10, output)
    return responded(ChatResponse(text, usage=used, reasoning_content="hmm " * 51, stop_reason=reason))


def test_visible_uncounted_reasoning_may_have_used_fewer_tokens_than_its_characters_suggest():
    """51 of its 83 tokens; 72 by characters, of which each takes a token in the text."""
    story = Playbook(max_tokens=51) >> started() >> shown("", 51, cut=True) >> shown("dcbgfebh" * 4, 83)
    imagined = asked(story, max_tokens=35)
    assert imagined.certainty is Certainty.UNDECIDABLE
    assert Assumed.REASONING in names(imagined)


@pytest.mark.parametrize(("cap", "certainty"), [(900, Certainty.CERTAIN), (1000, Certainty.ESTIMATED)])
def test_reasoning_proportional_to_a_larger_cap_may_fill_the_context_window(cap: int, certainty: Certainty):
    """40 of 128 tokens are 312 of 1,000. The same answer was certain, and a real one found the window full."""
    story = Playbook(max_tokens=128, context_window=320) >> started() >> thought("The answer is 42.", 45, 40)
    assert asked(story, TOLD_ALL, max_tokens=cap).certainty is certainty


def test_reasoning_proportional_to_a_smaller_cap_may_leave_room_in_a_full_context_window():
    """It was certain to be full again; really it reasoned less, and its text fitted."""
    used, full = TokenUsage(10, 90, 60), NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED
    answer = ChatResponse("a" * 100, usage=used, stop_reason=full, raw_stop_reason="length")
    story = Playbook(max_tokens=120, context_window=100) >> started() >> responded(answer)
    assert asked(story, max_tokens=95).certainty is Certainty.ESTIMATED


def test_a_sufficient_single_call_is_likely_where_only_longer_reasoning_could_break_it():
    book = Playbook(max_tokens=100, extra={"prefill": True})
    story = book >> started() >> shown("dcbgfebh" * 50, 100, cut=True) >> shown("abcdefgh" * 20, 67)
    imagined = asked(story, max_tokens=1000)
    assert (imagined.certainty, imagined.final.spent.attempts) == (Certainty.ESTIMATED, 1)


@pytest.mark.parametrize("cap", [87, 108, 109, 5000])
def test_a_model_whose_reasoning_scales_with_its_cap_may_need_more_than_it_spent(cap: int):
    """“With max_tokens ≥ 82, one call would have been enough”: 60 % of 62 tokens were reasoning, and of 82 they were
    49, so that it took two calls again."""
    story = Playbook(max_tokens=60, extra={"prefill": True}) >> started()
    story = story >> thought("a" * 120, 60, 30, cut=True) >> thought("b" * 90, 22, 0)
    imagined = asked(story, max_tokens=cap)
    assert (imagined.certainty, imagined.final.spent.attempts) == (Certainty.ESTIMATED, 1)
    assert "one call" not in verdict(story.snapshot)


def test_steps_after_an_answer_under_another_cap_are_estimated_and_the_answer_itself_is_certain():
    """Three were wrong: models whose connection makes reasoning a share of max_tokens spent more before the tools."""
    one, other = thought('{"b": 1, "c": "and more of it"}', 45, 30), thought('{"a": 2}', 105, 100)
    book = Playbook(max_tokens=600, schema_rounds=1, envelope_schema={"type": "object", "required": ["a"]})
    assert asked(book >> started() >> one >> other, max_tokens=900).certainty is Certainty.ESTIMATED
    alone = Playbook(max_tokens=600) >> started() >> thought("The answer is 42.", 45, 40)
    assert asked(alone, TOLD_ALL, max_tokens=900).certainty is Certainty.CERTAIN


def test_an_estimate_is_midway_between_what_its_two_ends_use():
    """Said in one call of 300 tokens: at 250 a second call is made, and what it repeats is not known."""
    story = Playbook(max_tokens=400) >> started() >> ended(worded("a", 300), tokens=300)
    imagined = asked(story, max_tokens=250)
    assert imagined.certainty is Certainty.ESTIMATED
    least, most = imagined.output_tokens_range
    assert least < most
    assert (imagined.final.own.output_tokens, imagined.spent.output_tokens) == (least, round((least + most) / 2))
    assert imagined.spent.attempts == imagined.final.own.attempts


def test_the_steps_of_an_estimate_add_up_to_its_totals():
    """Steps, bars and totals have one form: each number is midway between the two ends."""
    story = Playbook(max_tokens=400) >> started() >> ended(worded("a", 300), tokens=300)
    imagined = asked(story, max_tokens=250)
    steps = fold(imagined)[-1].after
    assert abs(steps.own.output_tokens - imagined.spent.output_tokens) <= steps.own.attempts
    assert verify(imagined).verified


def test_what_follows_from_the_recording_has_no_range():
    story = Playbook(max_tokens=40) >> started() >> ended(worded("a", 20), tokens=20)
    imagined = asked(story, max_continuations=1)
    assert imagined.output_tokens_range == (20, 20)
    assert imagined.spent == imagined.final.own
    assert imagined.seconds == imagined.final.at


def test_fewer_and_longer_calls_save_the_time_that_every_call_takes():
    calls = [(50.0, 1.5), (50.0, 1.5)]  # a second until the first token, and 10 ms for each
    assert seconds_at(calls, 100.0, Pace(1.0, 0.01)) == pytest.approx(2.0)
    slower = [(50.0, 3.0), (50.0, 3.0)]
    assert seconds_at(slower, 100.0, Pace(1.0, 0.01)) == pytest.approx(4.0)


def test_without_stored_calls_the_recorded_ones_tell_what_a_token_takes_where_they_differ_in_length():
    assert seconds_at([(50.0, 1.5), (100.0, 2.0)], 200.0, None) == pytest.approx(3.0)
    assert seconds_at([(50.0, 1.5), (50.0, 1.5)], 100.0, None) == pytest.approx(3.0)
    assert seconds_at([(50.0, 2.0), (100.0, 1.0)], 75.0, None) == pytest.approx(1.5)
    assert seconds_at([(0.0, 2.0)], 75.0, None) == 0.0
