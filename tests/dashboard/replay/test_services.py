"""Replays of turns that really ran: verified, imagined under other budgets, and asked again."""

import pytest
from django.core.exceptions import ValidationError

from agentcore.replay import Provenance
from dashboard.live.services import turn_start
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.services import backtest_create
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_verify, turn_what_if
from dashboard.simulator.texts import ESSAY
from dashboard.turns.models import Record
from dashboard.turns.record_compression import PACKED
from tests.dashboard.driving import AgentOf, Play, drive

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_if_beyond_the_end_of_a_recording_says_that_the_rest_is_unknown(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    imagined = turn_what_if(turn=turn, overrides={"max_tokens": 400})
    assert imagined.undecidable
    assert imagined.turn["status"] == "interrupted"
    assert imagined.turn["output_text"] == turn.output_text
    assert "The recording ends here" in imagined.turn["notice"]


def test_what_if_within_a_complete_recording_completes_in_one_call_with_the_same_text(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    imagined = turn_what_if(turn=turn, overrides={"max_tokens": 400})
    assert not imagined.undecidable
    assert (imagined.turn["status"], imagined.turn["attempts"]) == ("completed", 1)
    assert imagined.turn["output_text"] == turn.output_text == ESSAY


def test_a_simulated_ending_is_not_the_end_of_the_recording(play: Play):
    """A whole answer under a smaller cap: the recording goes on where the imagined turn is cut."""
    turn = play("sim-essay", max_tokens=900)
    told = turn_what_if(turn=turn, overrides={"max_tokens": 60, "limits": {"max_continuations": 0}}).turn["verdict"]
    assert told.startswith("Cut off by Max tokens per call (max_tokens)")
    assert "The recording" not in told


def test_what_if_under_the_same_policy_equals_the_recording(play: Play):
    turn = play("sim-tools", tools=["calculator"])
    imagined = turn_what_if(turn=turn, overrides={})
    assert {record.provenance for record in imagined.recording.records} == {Provenance.RECORDED}
    assert imagined.turn["output_text"] == turn.output_text


def test_what_if_with_another_prompt_is_undecidable_from_its_first_call(play: Play):
    turn = play("sim-essay")
    imagined = turn_what_if(turn=turn, overrides={"system_prompt": "Shout."})
    assert imagined.undecidable
    assert imagined.turn["output_text"] == ""


def test_what_if_refuses_invalid_numbers_with_an_explanation(play: Play):
    turn = play("sim-essay")
    with pytest.raises(ValidationError, match="max_tokens"):
        turn_what_if(turn=turn, overrides={"max_tokens": 0})
    with pytest.raises(ValidationError, match="max_continuations"):
        turn_what_if(turn=turn, overrides={"limits": {"max_continuations": -1}})


def test_a_rerun_is_a_separate_turn_with_a_parent_and_confirms_the_what_if(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    imagined = turn_what_if(turn=turn, overrides={"max_tokens": 400})
    child = drive(turn_rerun(turn=turn, overrides={"max_tokens": 400}))
    assert child.parent_id == turn.id
    assert (child.status, child.attempts) == ("completed", 1)
    assert child.output_text == imagined.turn["output_text"]
    assert turn_verify(turn=child).verified


def test_a_rerun_from_a_record_starts_after_that_record(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    child = drive(turn_rerun(turn=turn, overrides={"max_tokens": 400}, from_record=2))
    assert (child.forked_at, child.status, child.output_text) == (2, "completed", ESSAY)
    first = Record.objects.get(turn_id=child.id, seq=1)
    assert first.event["type"] == "operator_acted"
    assert turn_verify(turn=child).verified


def test_a_rerun_from_the_end_is_refused_with_an_explanation(play: Play):
    turn = play("sim-essay")
    with pytest.raises(ValidationError, match="nothing follows"):
        turn_rerun(turn=turn, overrides={}, from_record=2)
    with pytest.raises(ValidationError, match="records 1 to 2"):
        turn_rerun(turn=turn, overrides={}, from_record=99)


def test_a_tampered_history_is_reported_at_its_record(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    record = Record.objects.get(turn_id=turn.id, seq=2)
    transitions = [{**t, "reason": "nothing to see"} for t in record.transitions]
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE turns_record DISABLE TRIGGER ALL")
        Record.objects.filter(turn_id=turn.id, seq=2).update(
            **{name: getattr(record, name) for name in PACKED} | {"transitions": transitions, "packed": None}
        )
        cursor.execute("ALTER TABLE turns_record ENABLE TRIGGER ALL")
    verification = turn_verify(turn=turn)
    assert not verification.verified
    assert verification.divergence is not None
    assert verification.divergence.seq == 2


def test_a_backtest_counts_different_and_undecidable_outcomes(play: Play, agent_of: AgentOf):
    whole = play("sim-essay", overrides={"max_tokens": 150})
    agent = whole.agent
    cut = drive(turn_start(agent=agent, input_text="cut", overrides={"max_tokens": 60}))
    draft = {"limits": {"max_continuations": 0}}
    stored = backtest_create(project=whole.project, policy=draft, filter={})
    runner.run(stored.id)
    stored.refresh_from_db()
    assert (stored.status, stored.total, stored.done) == ("done", 2, 2)
    assert (stored.same, stored.flipped, stored.undecidable) == (1, 1, 0)
    assert stored.flipped_turns == [str(whole.id)]
    assert stored.calls_delta == -(whole.continuations + cut.continuations)
