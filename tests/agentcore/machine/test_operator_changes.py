"""What an operator does to a turn: run to a state, answer in the model's place, and who did it stays in the history."""

from dataclasses import replace

import pytest

from agentcore import AttemptKind, Message, NormalizedStopReason, Role, State, StopReason, TurnStatus
from agentcore.commands import CallModel
from agentcore.errors import IllegalEvent
from agentcore.events import Breakpoint, OperatorAction
from agentcore.messages import NO_CAP
from agentcore.replay import verify, what_if
from agentcore.states import DECIDING
from agentcore.sufficient_max_tokens import enough_for_one_call
from agentcore.verdict import verdict
from tests.agentcore.playbook import (
    Playbook,
    call,
    call_model,
    called,
    ended,
    error,
    finish,
    hold,
    interrupted,
    operator,
    released,
    run_tools,
    said,
    stand_in,
    started,
    tools_returned,
    truncated,
    woke_up,
)
from tests.together import together

CUT = (Breakpoint(state="continue_pending"),)


def test_run_to_a_state_applies_once():
    story = Playbook() >> started(breakpoints=(Breakpoint(state="evaluate_stop"),)) >> truncated("a ")
    story = story >> released(run_to="continue_pending", breakpoints=()) << hold(State.CONTINUE_PENDING)
    assert story.step.transitions[-1].reason == "an operator asked to run to continue_pending"
    story = story >> released() << call_model(AttemptKind.CONTINUATION)
    assert story >> truncated("b ") << call_model(AttemptKind.CONTINUATION)


def test_a_cap_removed_by_an_operator_is_not_sent_with_later_calls():
    story = Playbook() >> started(breakpoints=CUT) >> truncated("a ", tokens=60)
    story = story >> released(uncapped=True, max_tokens=16_384, breakpoints=()) << call_model(AttemptKind.CONTINUATION)
    assert (story.snapshot.uncapped, story.snapshot.sent_cap) == (True, None)
    told = story >> ended("b", tokens=900)
    assert told.end.status is TurnStatus.COMPLETED
    assert verify(told.stored()).verified
    again = what_if(told.recording, told.policy)
    assert (again.final, again.certainty.value) == (told.snapshot, "recorded")


@together
@pytest.mark.parametrize("state", ["evaluate_stop", "continue_pending"])
def test_an_answer_is_judged_by_the_cap_of_its_own_call_despite_later_operator_changes(state):
    """`uncapped` counts from the next call on, and so does a cap where none was sent."""
    held = (Breakpoint(state=state),)
    for extra, change, cap in (
        ({}, {"uncapped": True, "max_tokens": 16_384}, 60),
        ({"uncapped": NO_CAP}, {"max_tokens": 400}, None),
    ):
        story = Playbook(extra=extra) >> started(breakpoints=held) >> truncated("a ", tokens=60)
        changed = story >> operator(**change)
        before, after = story.snapshot, changed.snapshot
        assert (before.sent_cap, before.cut_below_cap) == (cap, cap is None)
        for name in ("sent_cap", "known_cap", "cut_below_cap", "eaten"):
            assert getattr(after, name) == getattr(before, name), (change, name)
        next_call = changed >> released(breakpoints=())
        reasons = [t.reason for step in next_call.steps for t in step.transitions if "the provider said" in t.reason]
        where = "" if cap else ", at 60 tokens, with no max_tokens set"
        assert reasons == [f"the provider said “length”: max_tokens{where}"]
        assert next_call.command.request.max_tokens == change["max_tokens"]
        assert next_call.snapshot.sent_cap == (None if cap else 400)
        told = next_call >> ended("b", tokens=9)
        assert verify(told.stored()).verified
        assert what_if(told.recording, told.policy).final == told.snapshot


def test_a_repeated_call_is_sent_with_the_operators_changes():
    story = Playbook() >> started() >> operator(uncapped=True, max_tokens=16_384)
    assert story.snapshot.sent_cap == 60, "the call in flight was sent it"
    assert (story >> interrupted()).snapshot.sent_cap is None


def test_no_sufficient_single_call_is_named_where_the_cause_of_the_first_truncation_is_unknown():
    """Of two calls only the second was sent a cap: the first was cut by a limit that nobody knows."""
    story = Playbook(extra={"prefill": True, "uncapped": NO_CAP}) >> started(breakpoints=CUT)
    story = story >> truncated("a" * 240, tokens=60) >> released(max_tokens=60, breakpoints=())
    story = story >> ended("b" * 40, tokens=10)
    assert enough_for_one_call(story.snapshot) is None


def test_the_first_hold_ends_a_run_to_a_state():
    story = Playbook() >> started(breakpoints=CUT) >> truncated("a ")
    story = story >> released(run_to="abort_partial") >> truncated("b ") << hold(State.CONTINUE_PENDING)
    assert story.snapshot.run_to is None


def test_a_turn_that_never_reaches_the_state_ends():
    story = Playbook() >> started(breakpoints=CUT) >> truncated("a ") >> released(run_to="evaluate_error")
    assert story >> ended("b") << finish("a b")


@pytest.mark.parametrize("action", [a for a in OperatorAction if a is not OperatorAction.RELEASE])
def test_run_to_a_state_is_only_possible_from_a_release(action):
    story = Playbook() >> started(breakpoints=CUT) >> truncated("a ")
    with pytest.raises(IllegalEvent, match="run_to goes with release"):
        story >> operator(action, run_to="abort_partial")


@together
@pytest.mark.parametrize("state", [state for state in State if state not in DECIDING])
def test_run_to_a_state_accepts_deciding_states_only(state):
    story = Playbook() >> started(breakpoints=CUT) >> truncated("a ")
    with pytest.raises(IllegalEvent, match="cannot be run to"):
        story >> released(run_to=state.value)


def test_an_operator_can_answer_the_next_call_at_no_cost():
    story = Playbook() >> started(breakpoints=CUT) >> truncated("a ", tokens=10)
    story = story >> released(answer=said("b")) << call_model(AttemptKind.CONTINUATION)
    answer = story.command.answer
    assert (answer.text, answer.answered_by, answer.provider, answer.model) == ("b", "ada", "openai", "m")
    assert story.records[-1].command["answered_by"] == "ada"
    before = story.snapshot.spent
    story = story >> stand_in << finish("a b", StopReason.COMPLETED)
    assert (story.snapshot.spent.output_tokens, story.snapshot.spent.estimated) == (before.output_tokens, False)
    assert (story.snapshot.raw_stop_reason, story.snapshot.stand_in) == (None, None)


def test_an_operator_can_answer_the_call_in_flight():
    story = Playbook() >> started() >> operator(answer=said("mine"))
    assert story.command.attempt == 1
    assert story >> stand_in << finish("mine")


@pytest.mark.parametrize("loss", [interrupted(), error(retryable=False)])
def test_an_operators_answer_is_kept_until_a_call_is_answered_with_it(loss):
    story = Playbook() >> started(breakpoints=(Breakpoint(state="evaluate_error"),)) >> operator(answer=said("mine"))
    story = story >> loss
    assert story.snapshot.stand_in is not None


def test_an_operators_answer_given_during_a_backoff_answers_the_retry():
    policy = {"on_model_error": "retry", "max_retries": 3}
    story = Playbook() >> started() >> operator(error_policy=policy) >> error() >> operator(answer=said("mine"))
    assert story >> woke_up() >> stand_in << finish("mine")


def test_an_operators_answer_may_call_tools():
    story = Playbook() >> started() >> operator(answer=said("", call())) >> stand_in << run_tools("calculator")
    assert story >> tools_returned() << call_model(AttemptKind.AFTER_TOOLS)


def test_an_operators_answer_is_judged_like_any_answer():
    cut = said("a ", reason=NormalizedStopReason.MAX_TOKENS)
    story = Playbook() >> started() >> operator(answer=cut) >> stand_in
    assert isinstance(story.command, CallModel)
    assert story << call_model(AttemptKind.CONTINUATION, continues="a ") >> ended("b") << finish("a b")


def test_an_operators_answer_is_never_a_block_or_an_error_of_the_provider():
    from dataclasses import replace

    forged = replace(said("x"), raw_stop_reason="stop", response_id="r", incomplete_stream=True, answered_by="model")
    answer = (Playbook() >> started() >> operator(answer=forged)).command.answer
    assert (answer.raw_stop_reason, answer.response_id, answer.incomplete_stream) == (None, None, False)
    assert answer.answered_by == "ada"


def test_an_operators_change_is_recorded_with_its_author():
    story = Playbook() >> started(breakpoints=(Breakpoint(tool="calculator"),)) >> called(call())
    story = story >> released(answer=said("x"), run_to="evaluate_stop")
    reason = story.step.transitions[0].reason
    assert reason == "ada: release, run to evaluate_stop, an answer in the model's place"


def test_a_limit_raised_by_an_operator_completes_a_turn_and_the_history_records_it():
    story = Playbook(max_continuations=0) >> started(breakpoints=CUT) >> truncated("a ") << hold(State.CONTINUE_PENDING)
    story = story >> released(limits={"max_continuations": 1}) << call_model(AttemptKind.CONTINUATION)
    assert story >> ended("b") << finish("a b", StopReason.COMPLETED, TurnStatus.COMPLETED)


def test_an_operators_answer_is_attributed_to_them_and_excluded_from_cost_conclusions():
    story = Playbook() >> started(breakpoints=CUT) >> truncated("a ") >> released(answer=said("b")) >> stand_in
    assert story.step.transitions[-1].reason == "ada answered in the model's place: end_turn"
    assert story.snapshot.flagged == ("operator_answered",)
    assert verdict(story.snapshot) == "Completed after 1 continuation."


@pytest.mark.parametrize(
    "changes",
    [{"messages": (Message(Role.USER, "another question"),)}, {"model": "another"}, {"system_prompt": "Be brief."}],
    ids=lambda changes: next(iter(changes)),
)
def test_no_sufficient_single_call_is_named_where_an_operator_changed_the_request(changes):
    """The verdict named a max_tokens for one call, which would have asked for all of it as the first call did."""
    story = Playbook(max_tokens=60, extra={"prefill": True}) >> started(breakpoints=CUT)
    story = story >> truncated("one " * 60, tokens=60)
    assert enough_for_one_call((story >> released() >> ended("two", tokens=1)).snapshot) == 66
    assert enough_for_one_call((story >> released(**changes) >> ended("two", tokens=1)).snapshot) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"limits": {"steps": 3}}, "Limits has no argument steps"),
        ({"limits": {"max_steps": 1.5}}, "max_steps must be a whole number"),
        ({"limits": {"max_steps": None}}, "max_steps must be a whole number"),
        ({"limits": {"max_seconds": "3"}}, "max_seconds must be a number"),
        (
            {"limits": {"truncation_budget_multiplier": 100}},
            "truncation_budget_multiplier must be a number from 1 to 8",
        ),
        ({"error_policy": {"on_tool_error": "maybe"}}, "on_tool_error must be one of"),
        ({"error_policy": {"max_retries": True}}, "max_retries must be a whole number"),
        ({"error_policy": {"retries": 3}}, "ErrorPolicy has no argument retries"),
    ],
)
def test_changed_numbers_are_judged_and_named_like_those_of_a_policy(changes, words):
    story = Playbook() >> started()
    with pytest.raises(IllegalEvent, match=words):
        story >> operator(**changes)
    assert (story >> operator(limits={"max_seconds": None, "max_steps": 3})).snapshot.limits.max_steps == 3


@pytest.mark.parametrize(
    "change",
    [
        {"limits": {"max_continuations": 2.5}},
        {"limits": {"max_total_tokens": 10**18}},
        {"limits": {"truncation_budget_multiplier": 0.5}},
        {"limits": {"max_steps": 3.0}},
        {"error_policy": {"max_retries": 10**18}},
    ],
    ids=str,
)
def test_an_invalid_number_accepted_by_an_earlier_release_replays_as_recorded(change):
    """The act was refused when it was replayed, so the turn neither verified nor had a what-if."""
    old = Playbook(max_tokens=60, revision=7) >> started() >> operator(**change) >> ended("Fine.")
    assert verify(old.recording).verified
    assert what_if(old.recording, replace(old.policy, max_tokens=90)).final.end.status == "completed"
    assert verdict(old.snapshot)
    with pytest.raises(IllegalEvent, match="nothing has changed"):
        Playbook(max_tokens=60) >> started() >> operator(**change)


@together
@pytest.mark.parametrize("now", [30, 60, 300])
def test_a_verdict_names_the_cap_of_the_call_despite_later_operator_changes(now: int):
    """A call that reasoning ate is told with its cap, and that it was raised only where it was."""
    held = (Breakpoint(state="continue_pending"),)
    once = Playbook(max_continuations=0) >> started(breakpoints=held) >> truncated("", tokens=60)
    once = once >> operator(max_tokens=now) >> released(breakpoints=())
    assert (
        "Cut off: reasoning used up Max tokens per call (max_tokens) before any text came (60 of 60 tokens), and "
        "not continued"
    ) in verdict(once.snapshot)
    twice = (
        Playbook(max_total_completion_tokens=900) >> started() >> truncated("", tokens=60) >> operator(breakpoints=held)
    )
    twice = twice >> truncated("", tokens=120) >> operator(max_tokens=now) >> released(breakpoints=())
    told = "the last time 120 of 120 tokens, where Max tokens per call was raised from 60, and no text came"
    assert told in verdict(twice.snapshot)
    assert verify(twice.stored()).verified
