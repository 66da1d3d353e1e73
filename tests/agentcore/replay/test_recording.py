"""A record knows the step that it was made from, and what is asked of the recording is the same without it."""

import pytest

from agentcore import Policy, Recording, Snapshot, what_if
from agentcore.values import replace
from tests.agentcore.playbook import Playbook, ended, started, truncated
from tests.agentcore.replay.cases import CLASSES, case

CUT = Playbook(max_tokens=60) >> started() >> truncated("part 1 ") >> ended("part 2")


def bare(recording: Recording) -> Recording:
    """The same as if it had been read."""
    records = tuple(replace(record, step=None) for record in recording.records)
    return Recording(recording.policy, recording.base_snapshot, records, final=recording.final)


@pytest.mark.parametrize("name", CLASSES)
def test_a_recording_that_was_read_comes_to_the_same_what_if_as_the_run_itself(name: str):
    for seed in range(4):
        one = case(name, seed)
        assert one.imagined() == what_if(bare(one.recording), one.policy, experience=one.experience)


def test_the_snapshot_after_a_record_is_that_of_its_step():
    before = Snapshot()
    for record, step in zip(CUT.records, CUT.steps, strict=True):
        begun = record.step.origin[0] if record.seq == 1 else before
        assert record.after(begun, CUT.policy) is step.snapshot
        before = step.snapshot


def test_a_step_tells_nothing_of_another_event_another_policy_or_another_beginning():
    first = CUT.records[0]
    begun = first.step.origin[0]
    changed = replace(first, event=replace(first.event, at=5.0))
    assert changed.after(begun, CUT.policy) is None
    assert first.after(begun, Policy(max_tokens=5)) is None
    assert first.after(replace(begun, at=1.0), CUT.policy) is None
    assert bare(CUT.recording).records[0].after(begun, CUT.policy) is None


def test_a_recording_with_another_event_put_in_is_judged_by_that():
    shorter = replace(CUT.records[2].event, response=replace(CUT.records[2].event.response, text="other"))
    records = (*CUT.records[:2], replace(CUT.records[2], event=shorter))
    imagined = what_if(Recording(CUT.policy, Snapshot(), records), CUT.policy, trace=False)
    assert imagined.final.output_text == "part 1 other"
