"""What a what-if claims, and what it does not: each claim that was found false, told once (design §3.9)."""

import random
from dataclasses import replace

import pytest

from agentcore import (
    Certainty,
    ErrorPolicy,
    ErrorType,
    Experience,
    Limits,
    NormalizedStopReason,
    Policy,
    ProviderError,
    StopReason,
    TokenUsage,
    TurnStatus,
    what_if,
)
from agentcore.events import ModelFailed, ModelResponded, ToolResult
from agentcore.messages import ChatResponse
from agentcore.replay import Assumed, Observed, Why
from agentcore.replay.certainty import CUT_AS_TOLD, LEAST_CALLS, UNTOLD, weakest
from agentcore.replay.pending_call import ENDED
from agentcore.replay.recorded_run import Past
from agentcore.sufficient_max_tokens import enough_for_one_call
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    called,
    ended,
    error,
    malformed_call,
    responded,
    said,
    started,
    tools_returned,
    truncated,
    unknown,
    usage,
    woke_up,
    worded,
)
from tests.agentcore.replay.examining import begun, run
from tests.agentcore.replay.fixed_text_model import Says, play, text_of
from tests.agentcore.replay.model_server import Model
from tests.agentcore.replay.texts import prose

ESSAY = text_of(300)
TOLD = prose(random.Random(1), 80)


#: Of a model whose stored calls were cut, and reported so.
TELLS_CUTS = Experience(tells_cuts=True)


def asked(story, experience=None, **changes):
    limits = {name: changes.pop(name) for name in list(changes) if name in Limits.__dataclass_fields__}
    policy = replace(story.policy, limits=replace(story.policy.limits, **limits), **changes)
    return what_if(story.recording, policy, experience=experience or Experience())


def ends(imagined):
    return [(one.final.end.status.value, one.final.end.terminal_reason) for one in imagined.endings]


def names(imagined):
    return {assumption.name for assumption in imagined.assumes}


def test_certainties_are_ordered_and_the_whole_is_as_certain_as_its_weakest_step():
    assert [one.rank for one in Certainty] == [0, 1, 2, 3]
    assert weakest([Certainty.CERTAIN, Certainty.ESTIMATED, Certainty.RECORDED]) is Certainty.ESTIMATED
    assert weakest([]) is Certainty.RECORDED


def test_the_same_request_under_the_same_cap_is_recorded():
    story = play(Playbook(max_tokens=150), Says(ESSAY))
    imagined = asked(story, max_continuations=9)
    assert imagined.certainty is Certainty.RECORDED
    assert {record.certainty for record in imagined.records} == {Certainty.RECORDED}
    assert imagined.assumes == ()


def whole(**told):
    """An essay in one call under a cap of 400, with what its usage says beside 300 output tokens."""
    used = TokenUsage(10, 300, **told)
    answer = ChatResponse(ESSAY, usage=used, stop_reason=NormalizedStopReason.END_TURN, raw_stop_reason="stop")
    return Playbook(max_tokens=400) >> started() >> responded(answer)


def test_a_natural_end_within_the_new_cap_is_certain_where_the_provider_reports_reasoning():
    every = Experience(reports_all=True)
    for told, experience in (({"no_reasoning": True}, None), ({"reasoning_tokens": 20}, every)):
        for cap in (305, 350, 4000):
            imagined = asked(whole(**told), experience, max_tokens=cap)
            assert (imagined.certainty, imagined.assumes) == (Certainty.CERTAIN, ())
            assert imagined.final.end.output_text == ESSAY


def test_reported_reasoning_may_be_only_a_part_of_the_counted_tokens():
    for cap, source in ((350, UNTOLD), (4000, CUT_AS_TOLD)):
        imagined = asked(whole(reasoning_tokens=20), max_tokens=cap)
        assert (imagined.certainty, [one.source for one in imagined.assumes]) == (Certainty.ESTIMATED, [source])


@pytest.mark.parametrize(
    ("cap", "certainty"), [(303, "undecidable"), (530, "estimated"), (1000, "recorded"), (1500, "estimated")]
)
def test_a_smaller_cap_is_an_estimate_where_complete_reporting_of_tokens_is_not_shown(cap, certainty):
    """Some providers count reasoning that stands in no usage: of a cap of 1,000 it may have taken 700 tokens. Most
    spend fewer than three quarters of what they report; stored calls that were cut at that show that there are none."""
    story = Playbook(max_tokens=1000) >> started() >> ended(ESSAY, tokens=300)
    imagined = asked(story, max_tokens=cap)
    assert imagined.certainty == certainty
    assert [one.source for one in imagined.assumes] == {303: [UNTOLD], 530: [UNTOLD], 1500: [CUT_AS_TOLD]}.get(cap, [])
    for known in (305, 1500):
        assert asked(story, Experience(reports_all=True), max_tokens=known).certainty is Certainty.CERTAIN


def test_a_natural_end_may_be_a_truncation_where_reasoning_may_have_used_the_rest_of_its_cap():
    """A provider that leaves reasoning out of the usage, and calls a cut an end: 700 tokens of thinking and 300 of text
    are all of the cap. A larger cap was certain to bring the same 300."""
    for tokens in (300, None):
        story = Playbook(max_tokens=1000) >> started() >> ended(ESSAY, tokens=tokens)
        assert asked(story, max_tokens=4000).certainty is Certainty.ESTIMATED
        assert asked(story, TELLS_CUTS, max_tokens=4000).certainty is Certainty.CERTAIN
    told = replace(usage(300), no_reasoning=True)
    whole = ChatResponse(ESSAY, usage=told, stop_reason=NormalizedStopReason.END_TURN, raw_stop_reason="stop")
    assert asked(Playbook(max_tokens=1000) >> started() >> responded(whole), max_tokens=4000).certainty == "certain"


@pytest.mark.parametrize("limit", [{"max_seconds": 60}, {"max_total_tokens": 900}], ids=str)
def test_hidden_reasoning_may_grow_under_a_larger_cap_where_a_limit_depends_on_it(limit):
    """It was certain. The same answer comes, after as much reasoning as the larger cap leaves room for."""
    story = Playbook(max_tokens=100, **limit) >> started() >> called(call(), tokens=8) >> tools_returned()
    story = story >> ended("42.", tokens=5)
    imagined = asked(story, TELLS_CUTS, max_tokens=2000)
    assert (imagined.certainty, names(imagined)) == (Certainty.ESTIMATED, {Assumed.REASONING})
    without = dict.fromkeys(limit)
    assert asked(story, TELLS_CUTS, max_tokens=2000, **without).certainty is Certainty.CERTAIN


def test_a_connection_that_broke_before_any_output_may_break_later_under_a_larger_cap():
    """It was certain to show nothing again: all of the smaller cap may have been reasoning."""
    story = Playbook(max_tokens=10, error_policy=ErrorPolicy()) >> started() >> error(ErrorType.MODEL, status=None)
    assert asked(story, max_tokens=400).certainty is Certainty.ESTIMATED


def test_a_call_truncated_exactly_at_its_reported_count_shows_that_all_tokens_are_reported():
    cut = play(Playbook(max_tokens=200, extra={"prefill": True}), Says(ESSAY))
    assert asked(cut, max_tokens=305).certainty is Certainty.CERTAIN
    below = Playbook(max_tokens=200, extra={"prefill": True}) >> started() >> truncated(ESSAY[:800], tokens=199)
    assert asked(below >> ended(ESSAY[800:], tokens=100), max_tokens=305).certainty is Certainty.ESTIMATED


@pytest.mark.parametrize("cap", [6, 40, 99])
@pytest.mark.parametrize("characters", [1400, 2709])
def test_an_answer_with_more_tokens_than_its_cap_has_no_negative_unreported_count(cap, characters):
    """It raised an error: of hidden reasoning there were fewer than no tokens."""
    story = Playbook(max_tokens=273) >> started() >> truncated((ESSAY * 9)[:characters], tokens=385)
    for continuations in (0, 1, 9):
        imagined = asked(story >> ended("more", tokens=9), max_tokens=cap, max_continuations=continuations)
        assert all(one.low >= 0 for one in imagined.assumes)


@pytest.mark.parametrize("cap", [299, 300])
def test_an_answer_that_barely_fits_or_barely_does_not_is_undecided(cap):
    """llama-cpp-python counts the end mark towards the cap and does not report it; others report one token more."""
    just = asked(whole(no_reasoning=True), max_tokens=cap)
    assert (just.why, [one.final.spent.attempts for one in just.endings]) == (Why.ASSUMPTIONS, [1, 2])
    assert Assumed.USAGE in names(just)


@pytest.mark.parametrize("cap", [301, 304])
def test_slightly_more_tokens_than_reported_are_likely_to_suffice_and_five_more_are_certain_to(cap: int):
    """A usage is off by one at some servers, and an end mark of three tokens may stand in none."""
    just = asked(whole(no_reasoning=True), max_tokens=cap)
    assert (just.certainty, names(just), just.final.end.status) == (Certainty.ESTIMATED, {Assumed.USAGE}, "completed")
    assert asked(whole(no_reasoning=True), max_tokens=305).certainty is Certainty.CERTAIN


@pytest.mark.parametrize("tokens", [60, 61])
def test_an_answer_that_used_all_its_tokens_may_have_been_truncated_so_another_cap_is_undecided(tokens):
    """Some servers call a cut an end."""
    ended_at_cap = Playbook(max_tokens=60) >> started() >> ended(ESSAY[:240], tokens=tokens)
    for cap in (40, 61, 400):
        assert asked(ended_at_cap, max_tokens=cap).why is Why.OUTPUT_AT_CAP
    assert asked(ended_at_cap, max_tokens=60).certainty is Certainty.RECORDED


def test_a_natural_end_with_all_tokens_used_is_believed_where_the_provider_reports_other_truncations():
    book = Playbook(max_tokens=60, extra={"prefill": True}) >> started()
    imagined = asked(book >> truncated(ESSAY[:240], tokens=60) >> ended(ESSAY[240:480], tokens=60), max_tokens=300)
    assert (imagined.certainty, [one.source for one in imagined.assumes]) == (Certainty.ESTIMATED, [ENDED])


def test_a_provider_that_omits_usage_of_some_truncated_calls_may_omit_that_of_a_new_one():
    book = Playbook(max_tokens=200, max_total_completion_tokens=150) >> started()
    imagined = asked(book >> truncated("", tokens=0) >> thought_only(150), max_tokens=66)
    assert sorted(ends(imagined)) == [("partial", "budget_exhausted"), ("partial", "repetition")]


def test_a_provider_that_reports_usage_of_some_calls_may_omit_that_of_a_new_one():
    """All tokens of the turn are limited, and those of a call without usage are not counted."""
    book = Playbook(max_tokens=128, max_total_tokens=200, max_total_completion_tokens=9_000) >> started()
    story = book >> truncated(tokens=None) >> thought_only(256)
    imagined = asked(story, max_tokens=8)
    assert imagined.certainty is not Certainty.CERTAIN
    assert Assumed.INPUT in names(imagined)


def thought_only(tokens):
    """An answer that was cut in its reasoning."""
    used, cut = TokenUsage(100, tokens, tokens), NormalizedStopReason.MAX_TOKENS
    return responded(ChatResponse("", usage=used, stop_reason=cut, raw_stop_reason="length"))


def test_one_call_with_all_recorded_tokens_is_certain_only_where_every_continuation_was_exact():
    exact = play(Playbook(max_tokens=160, extra={"prefill": True}), Says(ESSAY))
    assert asked(exact, max_tokens=305).certainty is Certainty.CERTAIN
    hinted = play(Playbook(max_tokens=150), Says(ESSAY))
    imagined = asked(hinted, max_tokens=600)
    assert imagined.certainty is Certainty.ESTIMATED
    assert names(imagined) == {Assumed.WORDING}
    assert imagined.final.spent.attempts == 1
    near = asked(hinted, max_tokens=301)
    assert near.undecidable
    assert ends(near) == [("completed", "completed")] * 2
    assert [ending.final.spent.attempts for ending in near.endings] == [1, 2]


def test_a_smaller_cap_that_completes_only_without_repeats_is_undecidable_with_both_endings():
    """`sim-essay`, recorded whole: 88 tokens were said to be enough, and really ended as partial."""
    story = play(Playbook(max_tokens=400), Says(ESSAY))
    imagined = asked(story, max_tokens=80)
    assert imagined.undecidable
    assert ends(imagined) == [("completed", "completed"), ("partial", "retry_limit")]
    assert names(imagined) >= {Assumed.REPEATS}
    assert imagined.final.end is None
    assert imagined.records[-1].command["type"] == "call_model"
    quiet = what_if(story.recording, replace(story.policy, max_tokens=80), trace=False)
    assert [one.final for one in quiet.endings] == [one.final for one in imagined.endings]


def test_a_cap_at_which_both_ends_agree_is_an_estimate_with_its_assumptions():
    story = play(Playbook(max_tokens=400), Says(ESSAY))
    imagined = asked(story, max_tokens=250)
    assert imagined.certainty is Certainty.ESTIMATED
    assert imagined.final.spent.attempts == 2
    [repeats] = [one for one in imagined.assumes if one.name is Assumed.REPEATS]
    assert (repeats.low, repeats.high, repeats.source) == (0.0, 48.0, "default")
    assert [record.certainty for record in imagined.records[1:]] == [Certainty.ESTIMATED] * 2


def test_evidence_from_stored_calls_of_a_model_bounds_the_assumptions():
    story = play(Playbook(max_tokens=400), Says(ESSAY))
    known = Experience(repeats=Observed(3.0, LEAST_CALLS))
    assert asked(story, known, max_tokens=80).certainty is Certainty.ESTIMATED
    few = Experience(repeats=Observed(3.0, LEAST_CALLS - 1))
    assert asked(story, few, max_tokens=80).undecidable


def test_a_recorded_repeat_larger_than_the_default_bounds_the_assumptions():
    story = play(Playbook(max_tokens=150), Says(ESSAY, repeats=4 * 70))
    imagined = asked(story, max_tokens=140)
    [repeats] = [one for one in imagined.assumes if one.name is Assumed.REPEATS]
    assert repeats.high == pytest.approx(70, abs=1)
    assert repeats.source == "the largest in this recording"


def test_recorded_reasoning_counts_towards_a_smaller_cap():
    """300 tokens of reasoning and 80 of text: at 100 it was said to complete; really it repeats nothing twice."""
    model = Model(1, (TOLD,), thinks={"first": (300, 300), "continuation": (300, 300)})
    story = run(begun(Playbook(max_tokens=600)), model)
    imagined = asked(story, max_tokens=100)
    assert imagined.undecidable
    truth = run(begun(Playbook(max_tokens=100)), model).end
    assert (truth.status, truth.terminal_reason) == (TurnStatus.PARTIAL, "repetition")
    assert (truth.status.value, truth.terminal_reason) in ends(imagined)
    assert names(imagined) >= {Assumed.REASONING}
    assert asked(story, Experience(reports_all=True), max_tokens=385).certainty is Certainty.CERTAIN


@pytest.mark.parametrize(("none", "certainty"), [(True, "estimated"), (None, "undecidable")])
def test_no_reasoning_is_hidden_in_tokens_reported_as_free_of_reasoning(none, certainty):
    """Of a long text a small cap was said to be eaten, perhaps, by reasoning, which the provider had ruled out."""
    book = Playbook(max_tokens=1000, extra={"prefill": True}) >> started()
    told = responded(
        ChatResponse(ESSAY, usage=TokenUsage(10, 300, no_reasoning=none), stop_reason=NormalizedStopReason.END_TURN)
    )
    imagined = asked(book >> told, max_tokens=20)
    assert imagined.certainty == certainty
    assert (Assumed.REASONING in names(imagined)) is not bool(none)


def test_a_failure_belongs_to_the_occurrence_it_hit():
    """`sim-flaky` under `retry_all`: another cap and `stop_on_any_error` were said to complete."""
    story = Playbook(error_policy=ErrorPolicy.retry_all()) >> started() >> error(status=503) >> woke_up()
    story = story >> ended("fine")
    imagined = asked(story, TELLS_CUTS, max_tokens=300, error_policy=ErrorPolicy.stop_on_any_error())
    assert (imagined.final.end.status, imagined.certainty) == (TurnStatus.FAILED, Certainty.CERTAIN)
    patient = asked(story, TELLS_CUTS, max_tokens=300)
    assert (patient.final.end.status, patient.final.spent.attempts) == (TurnStatus.COMPLETED, 2)
    assert patient.certainty is Certainty.CERTAIN


def test_a_failure_that_may_hit_another_call_is_an_assumption():
    asked_first = Playbook(max_tokens=150, extra={"prefill": True}, error_policy=ErrorPolicy.retry_all())
    story = (
        asked_first >> started() >> truncated(ESSAY[:600], tokens=150) >> called(call(), text=ESSAY[600:], tokens=150)
    )
    story = story >> tools_returned() >> error() >> woke_up() >> ended("done.")
    imagined = asked(story, max_tokens=400)
    assert Assumed.FAILURES in names(imagined)


@pytest.mark.parametrize(
    ("cap", "kinds"), [(64, ["ModelResponded"]), (65, ["Interrupted"]), (66, ["Interrupted"])], ids=str
)
def test_a_cap_equal_to_the_tokens_before_a_failure_may_truncate_the_answer_or_reach_the_failure(cap, kinds):
    """The cut was certain: really the provider said “error” with its last token, as in the recording."""
    story = Playbook(max_tokens=60, extra={"prefill": True}) >> started() >> truncated(worded("so", 60), tokens=60)
    imagined = asked(story >> unknown("error", worded("on", 5)), max_tokens=cap)
    assert imagined.certainty is Certainty.UNDECIDABLE
    assert [type(record.event).__name__ for record in imagined.records][1:2] == kinds


def test_a_tools_result_belongs_to_the_occurrence_of_its_call():
    """The same call was answered with an error, then with 42: a what-if told the model 42 twice."""
    story = Playbook(max_tokens=60, error_policy=ErrorPolicy.ignore_tool_errors()) >> started()
    story = story >> called(call()) >> tools_returned(ToolResult("a", "calculator", "no", "tool"))
    story = story >> called(call(id="b")) >> tools_returned(ToolResult("b", "calculator", "42")) >> ended("42.")
    imagined = asked(story, TELLS_CUTS, max_tokens=400)
    assert [m.text for m in imagined.final.messages if m.tool_call_id] == ["no", "42"]
    assert imagined.certainty is Certainty.CERTAIN


def test_a_fork_starts_with_the_text_of_its_base_and_its_pending_call():
    """A child re-run from record 2 was said to complete at any cap, with half of the text."""
    model = Model(2, (prose(random.Random(2), 300),), prefill=True)
    parent = run(begun(Playbook(max_tokens=100, extra={"prefill": True})), model)
    base = parent.steps[1].snapshot
    child = replace(parent.recording, base_snapshot=base, records=parent.records[2:])
    for cap in (50, 100, 150, 400):
        imagined = what_if(child, replace(parent.policy, max_tokens=cap))
        if not imagined.undecidable and imagined.final.end.status is TurnStatus.COMPLETED:
            assert imagined.final.end.output_text == "".join(model.texts[0])
    other = what_if(child, replace(parent.policy, model="another"))
    assert (other.undecidable, other.records) == (True, ())
    assert what_if(child, parent.policy).certainty is Certainty.RECORDED


@pytest.mark.parametrize("cap", [5, 40, 400])
def test_a_forks_pending_call_under_another_cap_is_not_recorded(cap):
    parent = play(Playbook(max_tokens=60), Says(ESSAY))
    child = replace(parent.recording, base_snapshot=parent.steps[1].snapshot, records=parent.records[2:])
    imagined = what_if(child, replace(parent.policy, max_tokens=cap))
    assert imagined.certainty is not Certainty.RECORDED


def test_a_natural_end_without_usage_is_known_under_a_larger_cap_and_assumed_under_a_smaller_one():
    story = Playbook(max_tokens=4000) >> started() >> ended(ESSAY, tokens=None)
    assert asked(story, TELLS_CUTS, max_tokens=5000).certainty is Certainty.CERTAIN
    smaller = asked(story, max_tokens=200)
    assert Assumed.USAGE in names(smaller)
    assert smaller.certainty.rank >= Certainty.ESTIMATED.rank


@pytest.mark.parametrize("tokens", [None, 90], ids=["no usage", "more than the cap"])
def test_a_natural_end_whose_text_may_use_its_whole_cap_may_be_a_truncation(tokens):
    """Where its tokens do not tell. It was certain to come under a larger cap too, also of servers that call a cut an
    end."""
    story = Playbook(max_tokens=60) >> started() >> ended(ESSAY[:240], tokens=tokens)
    imagined = asked(story, max_tokens=400)
    assert (imagined.certainty, names(imagined)) == (Certainty.ESTIMATED, {Assumed.TRUNCATION})
    assert asked(story, Experience(tells_cuts=True), max_tokens=400).certainty is Certainty.CERTAIN
    assert asked(story, Experience(tells_cuts=False), max_tokens=400).why is Why.OUTPUT_AT_CAP
    few_words = Playbook(max_tokens=60) >> started() >> ended(ESSAY[:59], tokens=tokens)
    assert asked(few_words, Experience(tells_cuts=False), max_tokens=400).certainty is Certainty.ESTIMATED


def test_a_truncated_answer_resumed_by_a_token_does_not_recur():
    """Where all tokens are alike, the requests are too: the second answer was certain to come a fourth time."""
    story = Playbook(max_tokens=20, max_continuations=2) >> started()
    for begin in (0, 80, 160):
        story = story >> truncated(ESSAY[begin : begin + 80], tokens=20, resume_token="go on")
    imagined = asked(story, max_continuations=3)
    assert imagined.undecidable
    assert imagined.final.output_text == ESSAY[:240]


def test_text_beside_reasoning_that_seems_to_have_used_all_tokens_also_appears_in_one_call():
    """One call was said to be enough for all of it, and its text was without the words of the first one."""
    story = Playbook(max_tokens=90, extra={"prefill": True}) >> started()
    story = story >> truncated(ESSAY[:36], tokens=90, reasoning_content="hm, " * 79) >> ended(ESSAY[36:268], tokens=79)
    imagined = asked(story, max_tokens=512)
    assert (imagined.certainty, imagined.final.end.output_text) == (Certainty.ESTIMATED, ESSAY[:268])


def test_time_spent_in_a_queue_produces_no_text():
    """Of 4 seconds it stood in line for 2, so half of it had come after 1 second of its own."""
    answered = replace(ended(ESSAY[:240], tokens=60), at=5.0, waited=2.0)
    story = Playbook(max_tokens=400, max_seconds=10) >> started() >> answered
    imagined = asked(story, max_tokens=400, max_seconds=1.0)
    assert {one.name: one.high for one in imagined.assumes}[Assumed.POSITION] == 120


def test_a_call_ended_by_the_time_limit_may_have_been_reasoning_or_writing():
    """Both ends were said to have brought no text: one for it comes late, the other for the cap is used up before."""
    story = Playbook(max_tokens=116, max_seconds=10) >> started() >> replace(ended(ESSAY[:112], tokens=44), at=5.0)
    imagined = asked(story, max_tokens=49, max_seconds=3.0)
    assert ends(imagined) == [("partial", "provider_error"), ("failed", "provider_error")]


def test_reasoning_received_before_a_time_limit_counts_towards_the_total():
    """A turn was said to end by its time limit alone; its partial answer had used up max_total_tokens too."""
    thought = truncated(ESSAY[:100], tokens=100, reasoning_content="hm, " * 150)
    story = Playbook(max_tokens=100) >> started() >> replace(thought, at=5.0) >> replace(ended("Yes."), at=6.0)
    imagined = asked(story, max_seconds=3.0, max_total_tokens=100)
    assert [one.final.end.stop_reason for one in imagined.endings] == [StopReason.TOKEN_LIMIT, StopReason.TIME_LIMIT]


def test_a_cap_within_a_tool_call_after_text_may_truncate_the_call_or_the_text_if_reasoning_varies():
    """Both ends were said to be cut in the text: one for the call begins late, the other for reasoning comes first."""
    answer = called(call(expression="1 + " * 40), text="Let me see how that goes.", tokens=86)
    story = Playbook(max_tokens=120, max_continuations=0) >> started() >> answer >> tools_returned() >> ended("Done.")
    assert asked(story, max_tokens=33).undecidable


def test_a_provider_that_does_not_count_reasoning_is_judged_by_its_own_count():
    usage = TokenUsage(10, 113, 110)
    answer = replace(said("A whole answer."), usage=usage, raw_stop_reason="completed")
    story = Playbook(max_tokens=16) >> started() >> responded(answer)
    assert asked(story, Experience(reports_all=True), max_tokens=8).certainty is Certainty.CERTAIN
    assert asked(story, max_tokens=8).final.end.status is TurnStatus.COMPLETED


def test_an_answer_truncated_below_its_cap_shows_nothing_about_other_caps():
    cut = replace(said("Half", reason=NormalizedStopReason.MAX_TOKENS), usage=TokenUsage(10, 482))
    story = Playbook(max_tokens=4000, max_continuations=0) >> started() >> responded(cut)
    assert asked(story, max_tokens=8000).undecidable


def test_under_another_cap_a_malformed_call_is_unchanged_and_a_truncated_one_is_undecidable():
    story = Playbook(max_tokens=60, max_tool_repair_attempts=0) >> started() >> malformed_call("Let me see.")
    assert asked(story, TELLS_CUTS, max_tokens=100).certainty is Certainty.CERTAIN
    assert asked(story, max_tokens=2).undecidable


def test_a_changed_prompt_is_undecidable_and_has_no_endings():
    story = play(Playbook(max_tokens=150), Says(ESSAY))
    imagined = what_if(story.recording, replace(story.policy, system_prompt="Be brief."))
    assert (imagined.certainty, imagined.endings, imagined.assumes) == (Certainty.UNDECIDABLE, (), ())


def test_a_policy_that_was_never_consulted_is_recorded():
    assert what_if(play(Playbook(), Says("Hi.")).recording, Policy()).certainty.rank <= Certainty.CERTAIN.rank


@pytest.mark.parametrize("tokens", [None, 0, 18])
def test_withheld_text_is_not_known_to_fit_a_smaller_cap(tokens):
    story = Playbook(max_tokens=400) >> started() >> blocked("", tokens=tokens)
    assert asked(story, max_tokens=400).certainty is Certainty.RECORDED
    assert asked(story, max_tokens=500).certainty is Certainty.CERTAIN
    assert asked(story, max_tokens=10).certainty is Certainty.UNDECIDABLE


def test_the_usage_of_an_answer_is_assumed_where_the_provider_counted_no_tokens():
    story = Playbook(max_tokens=400) >> started() >> ended("Some forty characters of an honest answer.", tokens=0)
    assert asked(story, max_tokens=400).certainty is Certainty.RECORDED
    assert Assumed.USAGE in names(asked(story, max_tokens=60))


def test_a_truncated_call_with_zero_reported_tokens_used_its_cap_on_reasoning():
    """The second call's answer was said under any cap from its own on, for certain; the first call would have continued
    reasoning."""
    story = Playbook(max_tokens=80) >> started() >> truncated("", tokens=0) >> ended("Forty words.", tokens=0)
    assert asked(story, max_tokens=200).certainty.rank >= Certainty.ESTIMATED.rank


def test_a_provider_that_reports_zero_tokens_is_assumed_to_keep_doing_so():
    story = Playbook(max_tokens=400) >> started() >> ended(ESSAY, tokens=0)
    imagined = asked(story, max_tokens=20, max_total_completion_tokens=30)
    assert Assumed.USAGE in names(imagined)
    records = [record for one in (imagined.endings or (imagined,)) for record in one.records]
    answers = [record.event.response for record in records if isinstance(record.event, ModelResponded)]
    assert {response.usage.output_tokens for response in answers} == {0}


def test_an_echo_uses_no_tokens_where_the_provider_reports_none():
    begun = "one two three four five six seven eight nine ten and so on, "
    book = Playbook(max_tokens=60, extra={"prefill": True, "prefill_echo": True})
    story = book >> started() >> truncated(begun, tokens=None) >> ended(begun + "eleven.", tokens=None)
    tape = Past.of(story.recording).tapes[1]
    assert tape.text == begun + "eleven."
    assert tape.stretches[1].most <= 1.5 * len("eleven.")


@pytest.mark.parametrize("cap", [20, 200])
def test_a_truncated_request_is_not_answered_with_certainty_by_the_complete_answer_to_a_later_one(cap):
    """After an answer of blanks the same is asked again; the first call had spent its cap on something unseen."""
    book = Playbook(max_tokens=33, extra={"prefill": True})
    story = book >> started() >> truncated("\n\n    ", tokens=33) >> ended("\n\n            ", tokens=5)
    imagined = asked(story, max_tokens=cap)
    assert imagined.certainty.rank >= Certainty.ESTIMATED.rank


def refused(status, words):
    wrong = ProviderError(ErrorType.MODEL, "invalid_request", words, status, retryable=False)
    return Playbook(max_tokens=8000) >> started() >> ModelFailed(0.0, wrong, None, 0.5)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "max_tokens is too large: 8000"),
        (400, "Requested output length 8000 exceeds 4096"),
        (402, "It broke."),
        (402, "You can only afford 1200"),
        (413, "The request is too large."),
        (422, "thinking.budget must be less than the output limit"),
    ],
)
def test_it_is_not_recorded_whether_a_refused_request_is_accepted_with_another_cap(status, words):
    """“max_tokens is too large: 8000” was said to come again at 1000."""
    story = refused(status, words)
    assert asked(story, max_continuations=9).certainty is Certainty.RECORDED
    assert asked(story, max_tokens=1000).undecidable


def test_it_is_not_recorded_whether_an_api_accepts_less_than_its_minimum_max_tokens():
    """An empty answer at 250 was certain to come at 5 too, which OpenAI's Responses refuse with 400."""
    for cap, shown in ((250, False), (8, True)):
        story = Playbook(max_tokens=cap, output_floor=16) >> started() >> ended("Hi.", tokens=2)
        assert asked(story, max_tokens=16).why is not Why.REFUSAL
        assert (asked(story, max_tokens=5).why is Why.REFUSAL) is not shown


@pytest.mark.parametrize(("most", "known"), [(50, False), (119, False), (120, True), (None, True)])
def test_it_is_not_recorded_whether_a_connection_allows_more_than_its_known_maximum(most, known):
    """A continued answer was certain to come in one call of 130 tokens, of a connection known to give 50 at most."""
    story = Playbook(max_tokens=50, ceiling=most, extra={"prefill": True}) >> started()
    story = story >> truncated(ESSAY[:200], tokens=50) >> truncated(ESSAY[200:400], tokens=50)
    story = story >> ended(ESSAY[400:500], tokens=20)
    assert (asked(story, max_tokens=130).why is not Why.REFUSAL) is known
    assert asked(story, max_tokens=50, max_continuations=9).certainty is Certainty.RECORDED


def test_a_call_above_the_known_maximum_shows_that_the_maximum_does_not_apply():
    story = Playbook(max_tokens=60, ceiling=50) >> started()
    story = story >> truncated(ESSAY[:240], tokens=60) >> ended("!", tokens=1)
    assert asked(story, max_tokens=400).why is not Why.REFUSAL


def test_an_empty_answer_without_reported_tokens_may_have_been_truncated_by_unreported_reasoning():
    """It was certain to come at 400 too, where its provider calls a cut an end."""
    story = Playbook(max_tokens=3) >> started() >> ended("", tokens=0)
    assert asked(story, max_tokens=400).why is Why.OUTPUT_AT_CAP


@pytest.mark.parametrize("word", ["MALFORMED_FUNCTION_CALL", "malformed_tool_use", " Malformed_Model_Output"])
def test_a_call_reported_as_malformed_may_have_been_truncated(word):
    """Gemini says no more than that of a call that max_tokens cut, and does not count its tokens."""
    answer = malformed_call("Let me work it out.")
    said_malformed = replace(answer, response=replace(answer.response, raw_stop_reason=word))
    story = Playbook(max_tokens=20) >> started() >> said_malformed >> ended("It is 42.")
    assert asked(story, max_continuations=9).certainty is Certainty.RECORDED
    for cap in (10, 60):
        assert asked(story, max_tokens=cap).why is Why.TOOL_CALLS


@pytest.mark.parametrize("status", [400, 422])
def test_a_refusal_that_does_not_mention_tokens_is_likely_to_recur_under_another_cap(status):
    imagined = asked(refused(status, "messages.0.role: unknown variant"), max_tokens=1000)
    assert (imagined.certainty, imagined.final.end.status) == (Certainty.ESTIMATED, "failed")
    assert [(str(one.name), one.source) for one in imagined.assumes] == [
        ("failures", "the provider's refusal does not name an output limit")
    ]


def test_a_failure_before_any_output_may_not_recur_under_a_smaller_cap():
    story = Playbook(max_tokens=8000) >> started() >> error(kind="connection", tokens=0)
    assert asked(story, max_tokens=1000).certainty is Certainty.ESTIMATED
    busy = Playbook(max_tokens=8000) >> started() >> error(kind="overloaded", status=529, tokens=0)
    assert asked(busy, max_tokens=1000).certainty is Certainty.CERTAIN


@pytest.mark.parametrize("status", [404, 429, None])
def test_another_model_or_prompt_need_not_fail(status):
    """That a model is not found was certain to be said of the right one too."""
    story = refused(status, "no such model")
    assert asked(story, max_steps=3).certainty is Certainty.RECORDED
    for changed in ({"model": "the right one"}, {"system_prompt": "Be brief."}):
        assert asked(story, **changed).why is Why.OTHER_REQUEST


def test_a_call_with_other_text_may_not_time_out():
    """It was certain to fail again, whatever was left to say."""
    timeout = ModelFailed(40.0, ProviderError(ErrorType.TIMEOUT, "timeout", "late"))
    story = Playbook(max_tokens=60, error_policy=ErrorPolicy.retry_all()) >> started()
    story = story >> truncated(ESSAY[:240], tokens=60) >> timeout >> woke_up() >> ended(ESSAY[240:300], tokens=15)
    failed = next(one for one in asked(story, max_tokens=70).records if isinstance(one.event, ModelFailed))
    assert (failed.certainty, [one.name for one in failed.assumes]) == (Certainty.ESTIMATED, [Assumed.FAILURES])


def test_the_boundary_between_text_and_call_is_an_assumption():
    story = Playbook(max_tokens=400) >> started() >> called(call(), text="x" * 66, tokens=96)
    for cap in (40, 50, 60, 66, 70):
        imagined = asked(story, max_tokens=cap, max_tool_repair_attempts=0, max_continuations=0)
        assert imagined.certainty.rank >= Certainty.ESTIMATED.rank


def test_a_small_cap_may_truncate_a_call_without_preceding_text():
    """Both ends had an empty answer: the low one had the cut in a text that there was not, the high one in thinking."""
    book = Playbook(max_tokens=100, max_continuations=0, max_tool_repair_attempts=0) >> started()
    story = book >> called(call(expression="1 + " * 14 + "1"), tokens=40) >> tools_returned() >> ended("57.")
    imagined = asked(story, max_tokens=6)
    assert imagined.certainty is Certainty.UNDECIDABLE
    assert {reason for _, reason in ends(imagined)} == {"tool_repair_failed", "retry_limit"}


def test_the_first_of_two_truncated_calls_may_be_complete():
    two = called(call(id="a"), call(id="b"), text="x" * 10, tokens=60)
    story = Playbook(max_tokens=400) >> started() >> two
    assert asked(story, max_tokens=50, max_tool_repair_attempts=0).undecidable


def test_the_point_where_the_context_window_is_full_depends_on_the_input():
    """The second call ended at a full window; whether one larger call would reach it is not recorded."""
    full = ChatResponse(
        "four five six ",
        usage=TokenUsage(900, 20),
        stop_reason=NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
        raw_stop_reason="model_context_window_exceeded",
    )
    story = Playbook(max_tokens=60, extra={"prefill": True}) >> started() >> truncated("one two three " * 20, tokens=60)
    story = story >> responded(full)
    assert asked(story, max_tokens=60, max_steps=9).certainty is Certainty.RECORDED
    assert asked(story, max_tokens=600).undecidable


def test_recorded_steps_apply_to_a_call_with_the_recorded_cap():
    """A step's certainty is that of what came: the question is recorded, and its command has the new cap."""
    story = play(Playbook(max_tokens=60), Says(ESSAY))
    for cap in (30, 60, 61, 300, 400):
        imagined = asked(story, max_tokens=cap)
        asked_for = None
        for record in imagined.records:
            if isinstance(record.event, ModelResponded) and record.certainty is Certainty.RECORDED:
                assert asked_for == 60
            asked_for = record.command.get("request", {}).get("max_tokens")
        assert imagined.records[0].certainty is Certainty.RECORDED
        assert imagined.records[0].command["request"]["max_tokens"] == cap


def test_an_answer_near_its_cap_may_have_been_truncated_by_a_server_that_reports_fewer_tokens():
    used = TokenUsage(10, 398, no_reasoning=True)
    answer = ChatResponse(ESSAY, usage=used, stop_reason=NormalizedStopReason.END_TURN, raw_stop_reason="stop")
    larger = asked(Playbook(max_tokens=400) >> started() >> responded(answer), max_tokens=900)
    assert (larger.certainty, names(larger)) == (Certainty.ESTIMATED, {Assumed.TRUNCATION})


LONG = "".join(prose(random.Random(1), 250))[:480].rstrip(" .") + "."


def cut_short(*, reasoning: int, text: str = LONG, **more):
    """A prefilled turn of two calls: the first is cut after so many tokens of reasoning."""
    story = Playbook(max_tokens=100, extra={"prefill": True}, **more) >> started()
    first = TokenUsage(10, 100, reasoning)
    story = story >> responded(ChatResponse(text[:320], usage=first, stop_reason=NormalizedStopReason.MAX_TOKENS))
    told = TokenUsage(10, 50, no_reasoning=True if reasoning else None)
    return story >> responded(ChatResponse(text[320:], usage=told, stop_reason=NormalizedStopReason.END_TURN))


@pytest.mark.parametrize(("reasoning", "number"), [(0, 155), (50, None)])
def test_a_what_if_is_certain_about_one_call_exactly_where_a_verdict_names_a_number(reasoning: int, number: int | None):
    """What reasoned before it was cut may reason longer under a larger cap."""
    story = cut_short(reasoning=reasoning)
    assert enough_for_one_call(story.snapshot) == number
    imagined = asked(story, max_tokens=5000)
    assert (imagined.certainty is Certainty.CERTAIN) is (number is not None)
    assert (imagined.final.spent.attempts, imagined.final.end.terminal_reason) == (1, "completed")


def test_an_end_that_contradicts_its_reason_makes_no_single_call_claim_certain():
    story = cut_short(reasoning=0, text=LONG + "\n\n```python\ndef unclosed():\n    return 1\n")
    assert story.snapshot.flagged
    assert enough_for_one_call(story.snapshot) is None
    assert asked(story, max_tokens=5000).certainty is Certainty.ESTIMATED


def test_a_total_that_depends_on_the_length_of_reasoning_is_not_certain():
    """Under a smaller cap a model may reason less, and then use less of `max_total_tokens`."""
    answer = ChatResponse("", (call(),), usage=TokenUsage(10, 430, 410), stop_reason=NormalizedStopReason.TOOL_CALL)
    story = Playbook(max_tokens=1400) >> started() >> responded(answer) >> tools_returned() >> ended("done")
    imagined = asked(story, max_tokens=525, max_total_tokens=306)
    assert imagined.final.end.terminal_reason == "forbidden"
    assert imagined.certainty is Certainty.ESTIMATED
    every = Experience(reports_all=True)
    assert asked(story, every, max_tokens=525, max_total_tokens=306).certainty is Certainty.ESTIMATED
    assert asked(story, every, max_tokens=525, max_total_tokens=20).certainty is Certainty.CERTAIN


def test_a_call_ended_by_its_time_limit_has_not_shown_complete_arguments():
    told = replace(called(call(expression="1 + 1"), tokens=50), at=5.0)
    story = Playbook(max_tokens=400, max_seconds=10) >> started() >> told >> tools_returned() >> ended("2")
    imagined = asked(story, max_seconds=3.0)
    endings = imagined.endings or (imagined,)
    partials = [r.event.partial for one in endings for r in one.records if isinstance(r.event, ModelFailed)]
    broken = [one for partial in partials if partial for one in partial.broken_tool_calls]
    assert broken
    assert not any(one.shown_whole for one in broken)
