"""Forks of everything that was ever recorded: each record is a place to begin, or says in words why not."""

from pathlib import Path

import pytest

from agentcore import RecordingError, State, advance
from agentcore.commands import Finish
from agentcore.events import OperatorActed
from agentcore.messages import NO_CAP
from agentcore.replay import fork
from agentcore.values import replace
from tests.agentcore.playbook import Playbook, operator, started, truncated
from tests.recordings.regenerate import read_recording
from tests.together import together

RECORDINGS = sorted((Path(__file__).parents[2] / "recordings").glob("*.json"))
HONEST = [path for path in RECORDINGS if path.stem != "meant_to_diverge"]


@together
@pytest.mark.parametrize("path", HONEST, ids=lambda path: path.stem)
def test_every_record_is_forkable_or_gives_the_reason(path: Path):
    recording = read_recording(path)
    for record in recording.records:
        last = State(record.transitions[-1]["to"])
        if last in (State.COMPLETE, State.ABORT, State.HELD):
            with pytest.raises(RecordingError, match=f"After record {record.seq} the turn (has ended|is held)"):
                fork(recording, record.seq, recording.policy, "child")
            continue
        begun = fork(recording, record.seq, recording.policy, "child")
        assert begun.asked.turn_id == "child"
        assert begun.state is last
        assert not isinstance(advance(begun, OperatorActed(0.0, "fork"), recording.policy).command, Finish)


def test_missing_records_are_reported_as_missing():
    recording = read_recording(HONEST[0])
    for seq in (0, len(recording.records) + 1):
        with pytest.raises(RecordingError, match=f"records 1 to {len(recording.records)}, not {seq}"):
            fork(recording, seq, recording.policy, "child")


@together
@pytest.mark.parametrize("cap", [None, 500])
@pytest.mark.parametrize("extra", [{}, {"uncapped": NO_CAP}])
def test_a_pending_call_is_made_under_the_cap_of_the_fork(cap: int | None, extra: dict[str, str]):
    """An operator has set one while it was in flight; the call of the fork is sent it, and is told with it."""
    story = Playbook(max_tokens=60, max_total_completion_tokens=9_000, extra=extra) >> started()
    story = story >> truncated("abc", tokens=60) >> operator(max_tokens=300)
    assert story.snapshot.known_cap == (None if extra else 60)
    policy = replace(story.recording.policy, max_tokens=cap)
    begun = fork(story.recording, len(story.recording.records), policy, "fork")
    assert (begun.sent_cap, begun.known_cap) == (cap or 60, cap or 60)
    assert begun.call.asked_cap is None
