"""What an operator did to the recorded turn belongs to the wait it was done at: a what-if does it there again."""

from dataclasses import replace

import pytest

from agentcore import Certainty, ChatResponse, ErrorPolicy, Message, NormalizedStopReason, Role, what_if
from agentcore.events import Breakpoint, CancelRequested, ChangedCall, OperatorAction
from agentcore.replay import Assumed, Experience, Why
from agentcore.replay.assumptions import LOW, AssumptionSet
from agentcore.replay.operator_answers import operator_answer
from agentcore.replay.recorded_operators import OperatorAct
from agentcore.replay.recorded_run import Past
from tests.agentcore.playbook import (
    Playbook,
    call,
    called,
    ended,
    error,
    operator,
    paused,
    released,
    started,
    tools_returned,
    truncated,
    woke_up,
)

HELD = (Breakpoint(state="continue_pending"),)


def asked(story, **changes):
    limits = {name: changes.pop(name) for name in list(changes) if name != "max_tokens"}
    return what_if(story.recording, replace(story.policy, limits=replace(story.policy.limits, **limits), **changes))


def names(imagined):
    return {assumption.name for assumption in imagined.assumes}


def test_limits_raised_by_an_operator_at_a_hold_are_raised_again():
    """It was certain to end at max_continuations, 0 of 0."""
    story = Playbook(max_tokens=40, max_continuations=0) >> started(breakpoints=HELD) >> paused("one ")
    story = story >> released(limits={"max_continuations": 5}) >> ended("two")
    imagined = asked(story, max_tokens=400)
    assert imagined.final.end.status == "completed"
    assert (imagined.final.limits.max_continuations, imagined.final.end.output_text) == (5, "one two")


def raised_during_a_call():
    asked_exactly = Playbook(max_tokens=60, max_continuations=0, extra={"prefill": True}) >> started()
    story = asked_exactly >> operator(limits={"max_continuations": 1}) >> truncated("one " * 30, tokens=60)
    return story >> ended("two", tokens=1)


def test_limits_raised_by_an_operator_during_a_call_are_raised_again_only_there():
    imagined = asked(raised_during_a_call(), max_tokens=60, max_total_output_chars=100_000)
    assert (imagined.certainty, imagined.final.end.status) == (Certainty.RECORDED, "completed")


def test_a_shorter_call_may_end_before_the_operator_acts():
    """It was certain to be raised, and the call to be continued."""
    imagined = asked(raised_during_a_call(), max_tokens=50)
    assert (imagined.certainty, imagined.why) == (Certainty.UNDECIDABLE, Why.ASSUMPTIONS)
    assert [one.final.limits.max_continuations for one in imagined.endings] == [0, 1]
    assert Assumed.OPERATORS in names(imagined)


def test_an_action_during_a_longer_call_is_assumed():
    """It was certain. What is acted on is the same; what is waited for is not."""
    story = Playbook(max_tokens=60, max_total_output_chars=2, extra={"prefill": True}) >> started()
    story = story >> operator(limits={"max_total_output_chars": 900}) >> ended("one " * 9, tokens=20)
    imagined = asked(story, max_tokens=200)
    assert (imagined.certainty, imagined.final.limits.max_total_output_chars) == (Certainty.ESTIMATED, 900)
    assert names(imagined) == {Assumed.OPERATORS, Assumed.TRUNCATION}


def at(seconds, event):
    return replace(event, at=seconds)


def in_a_call():
    story = Playbook(max_seconds=60) >> started()
    return story >> at(9.0, operator(limits={"max_seconds": 90})) >> at(11.0, ended("one"))


def while_tools_run():
    story = Playbook(max_seconds=60) >> started() >> at(2.0, called(call()))
    story = story >> at(10.0, operator(limits={"max_seconds": 90}))
    return story >> (lambda book: at(12.0, tools_returned()(book))) >> at(13.0, ended("one"))


@pytest.mark.parametrize(
    ("story", "why"), [(in_a_call, Why.TIMED_OUT), (while_tools_run, Why.TOOL_SECONDS)], ids=["call", "tools"]
)
def test_a_time_limit_that_ended_a_wait_is_not_raised_again(story, why):
    """It was certain to complete: the limit of five seconds was raised after eight."""
    imagined = asked(story(), max_seconds=5)
    assert (imagined.certainty, imagined.why) == (Certainty.UNDECIDABLE, why)
    assert imagined.final.limits.max_seconds == 5


def test_a_time_limit_raised_in_time_is_raised_again():
    imagined = asked(in_a_call(), max_seconds=9)
    assert (imagined.certainty, imagined.final.limits.max_seconds) == (Certainty.RECORDED, 90)


@pytest.mark.parametrize(("waits", "acts"), [(0.5, False), (1.5, True)])
def test_a_shorter_wait_may_end_before_the_operator_acts(waits, acts):
    story = Playbook(error_policy=ErrorPolicy.retry_all(5)) >> started() >> error()
    waiting = replace(story.snapshot, wait_seconds=waits)
    acted = OperatorAct(1.0, operator(limits={"max_steps": 9}), replace(story.snapshot, wait_seconds=2.0))
    low = operator_answer(waiting, acted, AssumptionSet(Past.of(story.recording), Experience(), LOW))
    assert (low is not None and low.certainty is Certainty.ESTIMATED) is acts


def at_a_hold(**changes):
    """Held once an answer of sixty tokens was cut; what was done then."""
    story = Playbook(max_tokens=60, extra={"prefill": True}) >> started(breakpoints=HELD)
    return story >> truncated("one " * 30, tokens=60) >> released(**changes) >> ended("two", tokens=1)


def test_an_operator_who_sees_different_text_is_assumed_to_act_the_same():
    """It was certain."""
    imagined = asked(at_a_hold(), max_tokens=50)
    acts = [one for end in imagined.endings for one in end.records if type(one.event).__name__ == "OperatorActed"]
    assert acts[0].certainty is Certainty.ESTIMATED
    assert {one.name for one in acts[0].assumes} == {Assumed.OPERATORS}


def test_a_replaced_conversation_is_not_applied_to_a_turn_with_another_answer():
    """It was certain, and the recorded answer stood in the messages of a turn that had said less."""
    story = at_a_hold(messages=(Message(Role.USER, "another question"),))
    imagined = asked(story, max_tokens=50)
    assert (imagined.certainty, imagined.why) == (Certainty.UNDECIDABLE, Why.OPERATOR)
    assert asked(story, max_total_output_chars=100_000).certainty is Certainty.RECORDED


def mended(text="one ", **changes):
    """Arguments that were mended while the turn was held before its tool ran."""
    book = Playbook(max_tokens=60, **changes) >> started(breakpoints=(Breakpoint(state="evaluate_stop"),))
    book = book >> called(call(), text=text, tokens=20)
    return book >> released(tool_call=ChangedCall(call().id, {"expression": "6 * 7"}))


def test_an_edited_call_is_edited_again_where_the_operator_sees_the_same():
    """The act was done without it, and the tool had no result."""
    book = mended() >> tools_returned() >> ended("two")
    known = Experience(tells_cuts=True)
    imagined = what_if(book.recording, replace(book.policy, max_tokens=400), experience=known)
    assert imagined.final.end is not None
    assert (imagined.certainty, imagined.final.end.status) == (Certainty.CERTAIN, "completed")


def test_a_call_is_not_edited_in_a_different_answer():
    book = mended("one " * 20) >> tools_returned() >> ended("two")
    imagined = asked(book, max_tokens=10)
    assert imagined.certainty is Certainty.UNDECIDABLE
    assert not any(getattr(record.event, "tool_call", None) for record in imagined.records)


@pytest.mark.parametrize("cap", [40, 400])
def test_a_turn_cancelled_during_a_hold_is_cancelled_again(cap):
    story = Playbook(max_tokens=40) >> started(breakpoints=(Breakpoint(state="evaluate_stop"),))
    story = story >> ended("one", tokens=1) >> CancelRequested(9.0, "ada")
    imagined = asked(story, max_tokens=cap)
    assert (imagined.final.end.status, imagined.final.cancelled_by) == ("cancelled", "ada")


def test_a_hold_that_was_never_recorded_is_released():
    story = Playbook(max_tokens=400) >> started(breakpoints=HELD) >> ended("one " * 60, tokens=60)
    imagined = asked(story, max_tokens=50)
    acts = [record.event for record in imagined.records if type(record.event).__name__ == "OperatorActed"]
    assert {(act.by, act.action) for act in acts} == {("what-if", OperatorAction.RELEASE)}


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": (Message(Role.USER, "another question"),)},
        {"model": "another"},
        {"system_prompt": "Be brief."},
        {"answer": ChatResponse(" two", stop_reason=NormalizedStopReason.END_TURN)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_text_of_another_conversation_is_not_the_rest_of_an_answer(changes):
    """One call with a larger max_tokens was certain to say both, as if the model had been asked the same all along."""
    book = Playbook(max_tokens=60, extra={"prefill": True}) >> started(breakpoints=HELD)
    book = book >> truncated("one " * 60, tokens=60) >> released(**changes) >> ended("two", tokens=1)
    imagined = asked(book, max_tokens=400)
    assert (imagined.certainty, imagined.why) == (Certainty.UNDECIDABLE, Why.MORE_TEXT)


def test_a_failed_call_without_text_leaves_the_text_of_another_model_unchanged():
    book = Playbook(max_tokens=60, error_policy=ErrorPolicy.retry_all(5), extra={"prefill": True})
    book = book >> started(breakpoints=(Breakpoint(state="evaluate_error"),)) >> error()
    book = book >> released(model="another") >> woke_up() >> ended("one " * 30, tokens=30)
    assert asked(book, max_tokens=20).why is not Why.ANOTHER_ANSWER
