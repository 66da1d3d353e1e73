"""What-if: the recording answers under another policy, and says where it cannot (design §3.9)."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore import (
    AttemptKind,
    Certainty,
    ErrorPolicy,
    ErrorType,
    Limits,
    Recording,
    StopReason,
    TurnStatus,
    advance,
    verify,
    what_if,
)
from agentcore.commands import Finish
from agentcore.events import Approvals, Breakpoint, OperatorAction, ToolResult
from agentcore.replay import Provenance, Why, first_divergence, recorded_run
from agentcore.replay.recorded_run import Past
from agentcore.values import replace as slot_copy
from tests.agentcore.machine.stories import STORIES
from tests.agentcore.playbook import (
    Playbook,
    call,
    call_model,
    called,
    cancelled,
    ended,
    error,
    finish,
    operator,
    released,
    said,
    stand_in,
    started,
    tools_returned,
    truncated,
    woke_up,
)
from tests.agentcore.replay.fixed_text_model import Says, play, text_of
from tests.examples import examples
from tests.together import together

ESSAY = text_of(300)


def under(story, **changes):
    """The story's recording under a policy with these changes; names of limits are limits."""
    limits = {name: changes.pop(name) for name in list(changes) if name in Limits.__dataclass_fields__}
    policy = replace(story.policy, limits=replace(story.policy.limits, **limits), **changes)
    imagined = what_if(story.recording, policy)
    assert verify(imagined).verified
    quiet = what_if(story.recording, policy, trace=False)
    assert (quiet.final, quiet.undecidable, quiet.records) == (imagined.final, imagined.undecidable, ())
    assert (quiet.certainty, quiet.assumes) == (imagined.certainty, imagined.assumes)
    return imagined


def provenances(imagined):
    return [record.provenance for record in imagined.records]


def calls(imagined):
    return [record.command["max_tokens"] for record in imagined.records if record.command["type"] == "call_model"]


def end_of(imagined):
    assert imagined.final is not None
    assert isinstance(imagined.final.end, Finish)
    return imagined.final.end


@together
@pytest.mark.parametrize("story", STORIES)
def test_the_same_policy_gives_the_same_run_all_recorded(story):
    told = story()
    imagined = what_if(told.recording, told.policy)
    assert first_divergence(told.recording, imagined) is None or told.snapshot.end is None
    assert provenances(imagined)[: len(told.records)] == [Provenance.RECORDED] * len(told.records)
    if told.snapshot.end is not None:
        assert len(imagined.records) == len(told.records)
        assert not imagined.undecidable
        assert imagined.final == told.snapshot


def test_a_turn_continued_at_150_completes_in_one_call_at_400_with_the_same_text():
    story = play(Playbook(max_tokens=150), Says(ESSAY))
    assert story.snapshot.spent.continuations == 1
    imagined = under(story, max_tokens=400)
    assert calls(imagined) == [400]
    assert end_of(imagined).output_text == ESSAY == story.end.output_text
    assert end_of(imagined).status is TurnStatus.COMPLETED
    assert provenances(imagined) == [Provenance.RECORDED, Provenance.DERIVED]
    assert not imagined.undecidable


def test_the_same_holds_where_the_model_repeated_itself_at_the_seams():
    story = play(Playbook(max_tokens=110), Says(ESSAY, repeats=24))
    assert story << finish(ESSAY, StopReason.COMPLETED)
    assert story.snapshot.spent.continuations == 2
    imagined = under(story, max_tokens=400)
    assert (calls(imagined), end_of(imagined).output_text) == ([400], ESSAY)


def test_a_turn_given_up_at_60_is_undecidable_at_400_and_keeps_what_is_recorded():
    story = play(Playbook(max_tokens=60), Says(ESSAY))
    assert story << finish(ESSAY[: 4 * 60 * 4], StopReason.RETRY_LIMIT, TurnStatus.PARTIAL)
    imagined = under(story, max_tokens=400)
    assert imagined.undecidable
    assert imagined.final.end is None
    assert imagined.final.output_text == story.end.output_text


def test_more_continuations_than_were_recorded_are_undecidable_after_the_recorded_ones():
    story = play(Playbook(max_tokens=60), Says(ESSAY))
    imagined = under(story, max_continuations=9, max_total_completion_tokens=900)
    assert imagined.undecidable
    assert imagined.final.output_text == story.end.output_text
    assert set(provenances(imagined)) == {Provenance.RECORDED}


def test_fewer_continuations_stop_at_a_recorded_step_and_are_fully_recorded():
    story = play(Playbook(max_tokens=60, max_total_completion_tokens=900, max_continuations=9), Says(ESSAY))
    imagined = under(story, max_continuations=2)
    assert end_of(imagined).terminal_reason == "retry_limit"
    assert end_of(imagined).output_text == ESSAY[: 3 * 60 * 4]
    assert not imagined.undecidable


def test_truncations_under_a_smaller_cap_are_derived():
    story = play(Playbook(max_tokens=400, extra={"prefill": True}), Says(ESSAY))
    imagined = under(story, max_tokens=110)
    assert calls(imagined) == [110, 110, 110]
    assert end_of(imagined).output_text == ESSAY
    assert provenances(imagined)[1:] == [Provenance.DERIVED] * 3
    short = under(story, max_tokens=80, max_continuations=2)
    assert end_of(short).output_text == ESSAY[: 3 * 80 * 4]
    assert end_of(short).stop_reason is StopReason.RETRY_LIMIT


def test_a_smaller_total_is_derived_from_the_recorded_text():
    story = play(Playbook(max_tokens=150), Says(ESSAY))
    imagined = under(story, max_total_completion_tokens=200)
    assert calls(imagined) == [150, 50]
    assert end_of(imagined).output_text == ESSAY[:800]
    assert end_of(imagined).terminal_reason == "budget_exhausted"


def test_text_beyond_the_character_cap_is_still_available():
    story = play(Playbook(max_tokens=200, max_total_output_chars=1000), Says(ESSAY))
    assert story << finish(ESSAY[:1000], StopReason.GUARD)
    imagined = under(story, max_total_output_chars=9000, max_tokens=400)
    assert (end_of(imagined).output_text, imagined.undecidable) == (ESSAY, False)
    assert end_of(imagined).status is TurnStatus.COMPLETED


def test_tools_are_answered_from_the_recording():
    script = (Says(text_of(40), (call(),)), Says(ESSAY))
    story = play(Playbook(max_tokens=250), *script)
    imagined = under(story, max_tokens=400)
    assert end_of(imagined).output_text == ESSAY
    assert [m.text for m in imagined.final.messages if m.tool_call_id] == ["done"]
    assert calls(imagined) == [400, 400]


def test_an_iteration_without_text_has_its_own_recorded_text():
    script = (Says(text_of(40), (call(),)), Says("", (call(id="b"),)), Says(ESSAY))
    story = play(Playbook(max_tokens=250), *script)
    imagined = under(story, max_tokens=400)
    assert [m.text for m in imagined.final.messages if m.tool_calls] == [text_of(40), ""]
    assert end_of(imagined).output_text == ESSAY


def test_a_cap_inside_a_recorded_tool_call_truncates_it_and_the_repair_is_not_recorded():
    story = play(Playbook(max_tokens=250), Says(text_of(40), (call(expression="1+1" * 20),)), Says("done."))
    imagined = under(story, max_tokens=55)
    assert [record.command.get("kind") for record in imagined.records] == ["initial", "tool_repair"]
    assert imagined.undecidable
    unrepaired = under(story, max_tokens=55, max_tool_repair_attempts=0)
    assert end_of(unrepaired).terminal_reason == "tool_repair_failed"


def test_a_truncated_tool_call_is_undecidable_under_any_other_cap():
    story = play(Playbook(max_tokens=50), Says(text_of(40), (call(),)), Says("done."))
    assert story.snapshot.spent.tool_repairs == 1
    assert under(story, max_tokens=100).undecidable
    assert under(story, max_tokens=45).undecidable


def test_a_result_supplied_by_an_operator_is_a_recorded_result():
    story = Playbook(max_tokens=60) >> started() >> truncated("one ", tokens=60) >> called(call(), text="two")
    story = story >> operator(tool_result=ToolResult("a", "calculator", "7")) >> tools_returned() >> ended("end")
    imagined = under(story, max_tokens=400)
    assert [m.text for m in imagined.final.messages if m.tool_call_id] == ["7"]
    assert end_of(imagined).output_text == "end"


@pytest.mark.parametrize("changes", [{"system_prompt": "Be rude."}, {"model": "another"}])
def test_a_changed_prompt_or_model_is_undecidable_from_the_first_call(changes):
    story = play(Playbook(max_tokens=150), Says(ESSAY))
    imagined = under(story, **changes)
    assert imagined.undecidable
    assert imagined.final.output_text == ""
    assert len(imagined.records) == 1


def test_a_stricter_error_policy_ends_the_turn_at_its_first_failure():
    story = Playbook(error_policy=ErrorPolicy.retry_all()) >> started() >> error() >> woke_up() >> ended("fine")
    imagined = under(story, error_policy=ErrorPolicy.stop_on_any_error())
    assert end_of(imagined).terminal_reason == "provider_error"
    assert not imagined.undecidable


def test_a_more_patient_error_policy_is_undecidable_after_its_wait():
    story = Playbook() >> started() >> error(partial="half ")
    imagined = under(story, error_policy=ErrorPolicy.retry_all())
    assert imagined.undecidable
    assert imagined.final.output_text == "half "


def test_an_answer_that_took_longer_than_the_new_time_limit_is_undecidable():
    story = Playbook() >> started() >> ended("fine")
    imagined = under(story, max_seconds=0.5)
    assert imagined.undecidable


def test_a_call_given_up_at_the_recorded_time_limit_is_undecidable_under_a_longer_one():
    story = Playbook(max_seconds=1.0) >> started() >> error(ErrorType.TIMEOUT, partial="half")
    assert not what_if(story.recording, story.policy).undecidable
    imagined = under(story, max_seconds=9.0)
    assert imagined.undecidable
    assert imagined.final.output_text == "half"
    assert not under(story, max_seconds=1.0, max_continuations=9).undecidable


@pytest.mark.parametrize("changed", [{}, {"max_tokens": 400}], ids=["alone", "with another cap"])
def test_tools_ended_at_the_recorded_time_limit_are_undecidable_under_a_longer_one(changed):
    """The error result was taken for what the tool comes to with more time, and the turn for `recorded`."""
    late = tools_returned(ToolResult("a", "calculator", "calculator took longer than 1 s.", ErrorType.TIMEOUT))
    story = Playbook(max_seconds=2.0, error_policy=ErrorPolicy.retry_all()) >> started() >> called(call())
    story = story >> late
    assert story.end is not None
    imagined = under(story, max_seconds=9.0, **changed)
    assert (imagined.certainty, imagined.why) == (Certainty.UNDECIDABLE, Why.TOOL_SECONDS)
    assert not what_if(story.recording, story.policy).undecidable


def test_a_time_limit_that_was_not_reached_changes_nothing():
    story = play(Playbook(max_tokens=150), Says(ESSAY))
    imagined = under(story, max_seconds=100.0)
    assert end_of(imagined) == story.end
    assert not imagined.undecidable


def test_a_cancelled_turn_knows_only_what_had_arrived():
    story = Playbook() >> started() >> cancelled("half")
    imagined = under(story, max_tokens=400)
    assert imagined.undecidable


def test_breakpoints_do_not_hold_a_what_if():
    story = Playbook(max_tokens=150) >> started(breakpoints=(Breakpoint(state="evaluate_stop"),))
    story = story >> truncated(ESSAY[:600], tokens=150) >> released() >> ended(ESSAY[600:], tokens=150) >> released()
    imagined = under(story, max_tokens=400)
    assert end_of(imagined).output_text == ESSAY
    assert calls(imagined) == [400]


def test_an_empty_recording_is_undecidable():
    imagined = what_if(Recording(Playbook().policy, Playbook().snapshot, ()), Playbook().policy)
    assert imagined.undecidable


def test_a_recording_of_a_running_turn_is_undecidable_where_it_stops():
    story = Playbook() >> started() >> truncated("a ")
    imagined = what_if(story.recording, story.policy)
    assert imagined.undecidable
    assert imagined.final.output_text == "a "


def test_a_truncated_envelope_is_complete_at_a_larger_cap():
    schema = {"type": "object", "required": ["answer"]}
    whole = '{"answer": "' + "x" * 386 + '"}'
    story = Playbook(max_tokens=60, envelope_schema=schema) >> started() >> truncated(whole[:240], tokens=60)
    story = story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=120) >> ended(whole, tokens=100)
    imagined = under(story, max_tokens=400)
    assert calls(imagined) == [400]
    assert end_of(imagined).envelope == {"answer": "x" * 386}
    smaller = under(story, max_tokens=30)
    assert calls(smaller) == [30, 60, 120]
    assert end_of(smaller).output_text == whole


def test_a_shorter_answer_to_the_same_later_request_is_not_used_for_the_first_call():
    schema = {"type": "object", "required": ["answer"]}
    story = Playbook(max_tokens=80, envelope_schema=schema) >> started() >> ended('{"other": "' + "x" * 280, tokens=70)
    story = story >> truncated('{"answer": "' + "y" * 300, tokens=80) >> ended('{"answer": ""}', tokens=5)
    assert story.end.status is TurnStatus.COMPLETED
    imagined = under(story, max_tokens=12)
    assert calls(imagined)[:2] == [12, 24], "the first answer had more tokens than its cap now allows"
    assert imagined.certainty is not Certainty.CERTAIN


def test_a_recording_of_a_fork_starts_at_its_base_with_the_new_limits():
    parent = play(Playbook(max_tokens=60), Says(ESSAY))
    base = parent.steps[2].snapshot
    records = parent.records[3:]
    fork = Recording(parent.policy, base, records)
    assert verify(fork).verified
    same = what_if(fork, parent.policy)
    assert not same.undecidable
    assert same.final == parent.snapshot
    fewer = what_if(fork, replace(parent.policy, limits=replace(parent.policy.limits, max_continuations=2)))
    assert verify(fewer).verified
    assert not fewer.undecidable
    assert fewer.final.end.output_text == ESSAY[: 3 * 60 * 4]


@settings(max_examples=examples(150), deadline=None)
@given(
    st.integers(1, 80).map(lambda n: n * 5),
    st.integers(2, 60).map(lambda n: n * 5),  # tokens of four characters: more than a call may repeat
    st.integers(1, 60).map(lambda n: n * 5),
    st.integers(0, 4),
    st.integers(0, 4),
    st.sampled_from([0, 24]),
)
def test_a_decidable_what_if_matches_the_actual_result(length, recorded_cap, asked_cap, had, asked, repeats):
    """The obedient model is really asked under the other policy, and must agree: it repeats no more than is assumed."""
    script = Says(text_of(length), repeats=repeats)
    total = {"max_total_completion_tokens": 100_000}
    story = play(Playbook(max_tokens=recorded_cap, max_continuations=had, **total), script)
    truth = play(Playbook(max_tokens=asked_cap, max_continuations=asked, **total), script)
    imagined = under(story, max_tokens=asked_cap, max_continuations=asked)
    if imagined.undecidable:
        assert story.end.output_text.startswith(imagined.final.output_text)
        return
    found, true = end_of(imagined), truth.end
    assert (found.status, found.terminal_reason) == (true.status, true.terminal_reason)
    assert imagined.final.spent.attempts == truth.snapshot.spent.attempts
    if imagined.certainty in (Certainty.RECORDED, Certainty.CERTAIN):
        assert found == replace(true, notice=found.notice)
        assert imagined.final.spent.output_tokens == truth.snapshot.spent.output_tokens


def test_every_derived_step_can_be_advanced_again():
    story = play(Playbook(max_tokens=150), Says(ESSAY))
    imagined = under(story, max_tokens=70)
    snapshot = imagined.base_snapshot
    for record in imagined.records:
        snapshot = advance(snapshot, record.event, imagined.policy).snapshot
    assert snapshot == imagined.final


def test_repeated_queries_of_a_recording_agree_and_a_copy_is_independent():
    told = play(Playbook(max_tokens=100), Says(ESSAY)).recording
    larger = replace(told.policy, max_tokens=400)
    first = what_if(told, larger)
    assert what_if(told, larger) == first
    cut_short = slot_copy(told, records=told.records[:2])
    assert what_if(cut_short, larger).undecidable
    assert what_if(told, larger) == first


def test_an_operators_answer_is_used_as_recorded():
    asked = Playbook(max_tokens=20, extra={"prefill": True})
    story = asked >> started(breakpoints=(Breakpoint(state="continue_pending"),))
    story = story >> truncated("one two " * 6, tokens=20) >> released(answer=said("three")) >> stand_in
    imagined = what_if(story.recording, replace(story.policy, max_tokens=10))
    assert (imagined.final.output_text, imagined.undecidable) == ("one two " * 6 + "three", False)
    assert imagined.final.spent.output_tokens == story.snapshot.spent.output_tokens


def test_an_answer_waiting_at_the_divergence_is_given_to_the_next_call():
    story = Playbook(max_continuations=0) >> started(breakpoints=(Breakpoint(state="continue_pending"),))
    story = story >> truncated("one ") >> released(answer=said("three"))
    assert story.end.output_text == "one "
    imagined = under(story, max_continuations=1)
    assert (imagined.final.output_text, imagined.final.stand_in) == ("one three", None)


def test_a_refused_call_is_also_refused_in_a_what_if():
    asked = {"approvals": Approvals(("calculator",)), "error_policy": ErrorPolicy.ignore_tool_errors()}
    story = Playbook(max_tokens=40, **asked) >> started() >> truncated("one ", tokens=40) >> called(call(), text="two")
    story = story >> operator(OperatorAction.REFUSE) >> tools_returned() >> ended("three")
    imagined = what_if(story.recording, replace(story.policy, max_tokens=400))
    told = [m.text for m in imagined.final.messages if m.tool_call_id]
    assert told == ["This call was not approved: refused by ada."]


def test_the_wait_for_an_operator_is_separate_from_the_duration_of_the_turn():
    story = Playbook(max_tokens=150) >> started(breakpoints=(Breakpoint(state="continue_pending"),))
    story = (
        story >> truncated(ESSAY[:600], tokens=150) >> replace(released(), at=900.0) >> ended(ESSAY[600:], tokens=150)
    )
    again, parted = under(story), under(story, max_tokens=2_000)
    waited = 900.0 - story.recording.records[1].event.at
    assert (again.held, Past.of(story.recording).held) == (waited, waited)
    assert (parted.held, parted.final.spent.attempts) == (0.0, 1)


def test_a_hold_recorded_before_the_divergence_applies_to_both_endings():
    story = Playbook(max_tokens=150) >> started(breakpoints=(Breakpoint(state="continue_pending"),))
    story = story >> truncated(ESSAY[:600], tokens=150) >> replace(released(), at=900.0)
    story = story >> truncated(ESSAY[600:900], tokens=150) >> released() >> ended(ESSAY[900:], tokens=75)
    stopped, recorded = under(story, max_continuations=1), Past.of(story.recording).held
    assert (stopped.held, recorded) == (899.0, 899.0)
    assert stopped.final.at < story.snapshot.at


def test_signs_in_the_answers_of_an_iteration_are_searched_once_for_any_number_of_limits(monkeypatch):
    """A sweep asks about each of its values, and the search reads the whole text."""
    past, read = Past.of(play(Playbook(max_tokens=100), Says(ESSAY)).recording), []
    searched = recorded_run.lint

    def lint(response, *given, **named):
        read.append(1)
        return searched(response, *given, **named)

    monkeypatch.setattr(recorded_run, "lint", lint)
    told = past.shows_signs(1)
    once = len(read)
    assert [past.shows_signs(1) for _ in range(5)] == [told] * 5
    assert len(read) == once > 0
