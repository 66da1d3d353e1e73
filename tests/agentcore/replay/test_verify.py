"""Verify: the same events give the same transitions, evaluations and commands, for ever (design §3.9)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agentcore import Certainty, Recording, verify, what_if
from agentcore.events import WokeUp
from agentcore.replay import first_divergence
from agentcore.serial import policy_from_json
from tests.agentcore.machine.stories import STORIES
from tests.agentcore.playbook import Playbook, ended, started, truncated
from tests.recordings.regenerate import GOLDEN, read_recording, write_recording
from tests.together import together

RECORDINGS = Path(__file__).parents[2] / "recordings"
MEANT_TO_DIVERGE = "meant_to_diverge"


@together
@pytest.mark.parametrize("story", STORIES)
def test_every_scenario_verifies_from_its_json(story):
    told = story()
    verification = verify(told.stored())
    assert verification.verified, verification.divergence
    assert verification.records == len(told.records)


@pytest.fixture
def told() -> Playbook:
    return Playbook() >> started() >> truncated("one ") >> truncated("two ") >> ended("three")


def tampered(told, seq, **changes):
    records = [replace(record, **changes) if record.seq == seq else record for record in told.records]
    return verify(Recording(told.policy, told.recording.base_snapshot, tuple(records)))


@pytest.mark.parametrize("seq", [1, 2, 3, 4])
@pytest.mark.parametrize("field", ["transitions", "command"])
def test_a_tampered_record_diverges_at_that_record_with_both_versions(told, seq, field):
    lie = {"type": "hold"} if field == "command" else ({"type": "lie"},)
    verification = tampered(told, seq, **{field: lie})
    assert not verification.verified
    assert verification.records == seq - 1
    assert verification.divergence.seq == seq
    assert verification.divergence.recorded[field] == (lie if field == "command" else list(lie))
    assert verification.divergence.replayed[field] != verification.divergence.recorded[field]


def test_a_tampered_evaluation_diverges(told):
    transitions = json.loads(json.dumps(told.records[1].transitions))
    transitions[1]["outcome"]["evaluations"][0]["reason"] += "!"
    verification = tampered(told, 2, transitions=tuple(transitions))
    assert verification.divergence.seq == 2


def test_a_tampered_answer_diverges_where_it_is_reported(told):
    assert tampered(told, 2, event=truncated("another word ")).divergence.seq == 2


def test_observations_are_not_compared_so_that_older_histories_still_verify(told):
    fewer = tuple(replace(record, observed=()) for record in told.records)
    assert verify(replace(told.recording, records=fewer)).verified


def test_observations_are_shown_beside_a_divergence(told):
    verification = tampered(told, 2, command={"type": "hold"}, observed=({"type": "lie"},))
    assert verification.divergence.recorded["observed"] == [{"type": "lie"}]
    assert verification.divergence.replayed["observed"] == list(told.records[1].observed)


def test_an_impossible_event_diverges_at_that_event_with_the_reason(told):
    verification = tampered(told, 3, event=WokeUp(9.0))
    assert verification.divergence.seq == 3
    assert "not possible" in verification.divergence.replayed["error"]


def test_another_policy_diverges(told):
    strict = replace(told.policy, limits=replace(told.policy.limits, max_continuations=1))
    verification = verify(replace(told.recording, policy=strict))
    assert verification.divergence.seq == 2  # its limits stand in the evaluations


def test_a_missing_record_diverges(told):
    assert not verify(replace(told.recording, records=told.records[:1] + told.records[2:])).verified


def test_an_empty_history_verifies():
    assert verify(Recording(Playbook().policy, Playbook().snapshot, ())).verified


def test_two_runs_diverge_where_one_ends():
    long, short = (
        (Playbook() >> started() >> truncated("a ") >> ended("b")),
        (Playbook() >> started() >> truncated("a ")),
    )
    assert first_divergence(long.recording, long.recording) is None
    divergence = first_divergence(long.recording, short.recording)
    assert (divergence.seq, divergence.replayed) == (3, None)
    assert first_divergence(short.recording, long.recording).recorded is None


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_a_golden_recording_verifies_forever_and_the_one_meant_to_diverge_diverges(path):
    verification = verify(read_recording(path))
    if path.stem == MEANT_TO_DIVERGE:
        assert verification.divergence is not None
        assert verification.divergence.seq == 3
    else:
        assert verification.verified, verification.divergence


def test_all_golden_recordings_exist():
    assert {path.stem for path in RECORDINGS.glob("*.json")} >= {*GOLDEN, MEANT_TO_DIVERGE}


def test_a_recording_round_trips_unchanged(told, tmp_path):
    write_recording(tmp_path / "x.json", told.recording)
    read = read_recording(tmp_path / "x.json")
    assert [record.event for record in read.records] == [record.event for record in told.records]
    assert verify(read).verified


def test_numbers_that_no_form_accepts_are_read_run_verified_and_queried_consistently():
    """Policies that were stored before numbers were judged hold such ones."""
    odd = {"max_continuations": 1, "max_seconds": 0.0, "max_total_output_chars": -1, "truncation_budget_multiplier": 99}
    policy = policy_from_json({"limits": odd, "max_retry_after": -1.0, "revision": 8})
    book = Playbook()
    object.__setattr__(book, "policy", policy)  # its constructor would judge it
    told = book >> started() >> ended("three")
    assert told.end is not None
    assert verify(told.recording).verified
    assert what_if(told.recording, policy).certainty is Certainty.RECORDED
