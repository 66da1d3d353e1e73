"""What an operator did to the recorded turn belongs to the wait it was done at: a what-if does it there again."""

from dataclasses import replace

import pytest

from agentcore import Certainty, what_if
from agentcore.events import Breakpoint, CancelRequested, OperatorAction
from tests.agentcore.playbook import Playbook, ended, operator, paused, released, started, truncated

HELD = (Breakpoint(state="continue_pending"),)


def asked(story, **changes):
    limits = {name: changes.pop(name) for name in list(changes) if name != "max_tokens"}
    return what_if(story.recording, replace(story.policy, limits=replace(story.policy.limits, **limits), **changes))


def test_limits_that_an_operator_raised_at_a_hold_are_raised_again():
    """It was certain to end at max_continuations, 0 of 0."""
    story = Playbook(max_tokens=40, max_continuations=0) >> started(breakpoints=HELD) >> paused("one ")
    story = story >> released(limits={"max_continuations": 5}) >> ended("two")
    imagined = asked(story, max_tokens=400)
    assert imagined.final.end.status == "completed"
    assert (imagined.final.limits.max_continuations, imagined.final.end.output_text) == (5, "one two")


def test_limits_that_an_operator_raised_during_a_call_are_raised_again_and_only_there():
    asked_exactly = Playbook(max_tokens=60, max_continuations=0, extra={"prefill": True}) >> started()
    story = asked_exactly >> operator(limits={"max_continuations": 1}) >> truncated("one " * 30, tokens=60)
    story = story >> ended("two", tokens=1)
    imagined = asked(story, max_tokens=60, max_total_output_chars=100_000)
    assert (imagined.certainty, imagined.final.end.status) == (Certainty.RECORDED, "completed")
    parted = asked(story, max_tokens=50)
    acts = [record for record in parted.records if type(record.event).__name__ == "OperatorActed"]
    assert len(acts) == 1
    assert parted.final.limits.max_continuations == 1


@pytest.mark.parametrize("cap", [40, 400])
def test_a_turn_that_was_cancelled_while_it_was_held_is_cancelled_again(cap):
    story = Playbook(max_tokens=40) >> started(breakpoints=(Breakpoint(state="evaluate_stop"),))
    story = story >> ended("one", tokens=1) >> CancelRequested(9.0, "ada")
    imagined = asked(story, max_tokens=cap)
    assert (imagined.final.end.status, imagined.final.cancelled_by) == ("cancelled", "ada")


def test_a_hold_that_was_never_recorded_is_released():
    story = Playbook(max_tokens=400) >> started(breakpoints=HELD) >> ended("one " * 60, tokens=60)
    imagined = asked(story, max_tokens=50)
    acts = [record.event for record in imagined.records if type(record.event).__name__ == "OperatorActed"]
    assert {(act.by, act.action) for act in acts} == {("what-if", OperatorAction.RELEASE)}
