"""What a recording predicts for a re-run is stored with it, before it starts; where it predicts nothing, nothing is."""

from typing import Any

import pytest
from django.db import DatabaseError, transaction

from agentcore.replay import fold, unforkable
from dashboard.agents.models import Connection
from dashboard.agents.services import connection_create, connection_update
from dashboard.live.services import turn_control
from dashboard.policies import services as policies
from dashboard.policies import shadow_evaluation
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.predictions.models import Prediction
from dashboard.replay.forecaster import kept_with
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_go_on, turn_rerun
from dashboard.replay.services import turn_what_if
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.policies.predictions.conftest import again_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_rerun_under_another_limit_is_predicted_before_it_starts(cut: Turn):
    child = turn_rerun(turn=cut, overrides={"max_tokens": 400})
    prediction = Prediction.objects.get()
    assert child.status == "queued"
    assert (prediction.parent_id, prediction.child_id) == (cut.id, child.id)
    assert (prediction.kind, prediction.provider, prediction.model) == ("rerun", "openai", "sim-essay")
    assert (prediction.connection, prediction.overrides) == ("simulator", {"max_tokens": 400})
    assert (prediction.compared_at, prediction.came_true, prediction.actual) == (None, None, None)


def test_the_prediction_equals_the_what_if(cut: Turn):
    imagined = turn_what_if(turn=cut, overrides={"limits": {"max_continuations": 0}})
    turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 0}})
    prediction = Prediction.objects.get()
    (ending,) = prediction.endings
    assert prediction.certainty == imagined.recording.certainty
    for name in ("status", "stop_reason", "terminal_reason", "attempts", "output_tokens"):
        assert ending[name] == imagined.turn[name], name


def test_the_text_is_predicted_only_where_it_is_certain(cut: Turn):
    turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 9}})
    prediction = Prediction.objects.get()
    assert (prediction.certainty, prediction.endings[0]["status"]) == ("recorded", "completed")
    assert prediction.endings[0]["text_sha256"]


@pytest.mark.parametrize(
    "otherwise",
    [
        {"overrides": {"max_tokens": 400, "model": "sim-odd"}},
        {"overrides": {"max_tokens": 400, "system_prompt": "Be odd."}},
        {"overrides": {"max_tokens": 400}, "words": RerunChanges(messages={1: "And why do people?"})},
        {"overrides": {}},
        {"overrides": {"max_tokens": 150}},
        {"overrides": {"retention": {"keep_raw_days": 3}}},
    ],
    ids=["model", "prompt", "message", "nothing", "the same number", "how long it is kept"],
)
def test_nothing_is_predicted_for_another_request_or_without_a_changed_limit(cut: Turn, otherwise: dict[str, Any]):
    turn_rerun(turn=cut, **otherwise)
    assert not Prediction.objects.exists()


def test_nothing_is_predicted_for_another_or_a_changed_connection(
    cut: Turn, connection: Connection, simulator_url: str
):
    address = simulator_url.removesuffix("/v1")
    connection_create(project=connection.project, name="other", provider="anthropic", base_url=address)
    turn_rerun(turn=cut, overrides={"max_tokens": 400}, words=RerunChanges(connection="other"))
    assert not Prediction.objects.exists()
    connection_update(connection=connection, changes={"prefill": True})
    turn_rerun(turn=Turn.objects.get(id=cut.id), overrides={"max_tokens": 400})
    assert not Prediction.objects.exists()


def test_every_fork_point_predicts_the_rest_of_its_turn(cut: Turn):
    for span in fold(recording_of(cut)):
        seq = span.record.seq
        if unforkable(span.after, seq):
            continue
        prediction = again_of(cut, {"limits": {"max_continuations": 9}}, from_record=seq)
        assert (prediction.from_record, prediction.certainty) == (seq, "recorded")
        assert prediction.came_true, (seq, prediction.differences)


def test_a_fork_under_other_limits_predicts_the_rest(cut: Turn):
    prediction = again_of(cut, {"limits": {"max_continuations": 1}}, from_record=2)
    assert prediction.endings[0]["terminal_reason"] == "retry_limit"
    assert prediction.came_true, prediction.differences


OTHERWISE: list[dict[str, Any]] = [
    {"max_tokens": 88},
    {"max_tokens": 500},
    {"limits": {"max_continuations": 1}},
    {"limits": {"max_steps": 1}},
]


@pytest.mark.parametrize(
    ("model", "agent"),
    [
        ("sim-essay", {"max_tokens": 150}),
        ("sim-cut-tool", {"max_tokens": 40, "tools": ["calculator"]}),
        ("sim-tools", {"tools": ["calculator"]}),
    ],
)
def test_recorded_and_certain_predictions_come_true_from_every_fork_point(
    play: Play, model: str, agent: dict[str, Any]
):
    turn = play(model, **agent)
    spans = fold(recording_of(turn))
    places = [None, *(span.record.seq for span in spans if not unforkable(span.after, span.record.seq))]
    for place in places:
        for overrides in OTHERWISE:
            child = drive(turn_rerun(turn=turn, overrides=overrides, from_record=place))
            outcome_comparison.sweep()
            found = Prediction.objects.filter(child=child).first()
            if found is not None and found.certainty in ("recorded", "certain"):
                assert found.came_true, (place, overrides, found.differences)
    assert Prediction.objects.filter(came_true=True, certainty__in=("recorded", "certain")).count() >= len(places)


def test_a_rerun_of_a_fork_from_its_start_begins_before_its_recording(cut: Turn):
    fork = drive(turn_rerun(turn=cut, overrides={}, from_record=2))
    turn_rerun(turn=fork, overrides={"limits": {"max_continuations": 1}})
    assert not Prediction.objects.exists()


def test_a_turn_changed_by_an_operator_has_no_prediction(agent_of: Any):
    from dashboard.live.services import turn_start

    held = turn_start(
        agent=agent_of("sim-essay", max_tokens=150), input_text="Why?", breakpoints=[{"state": "continue_pending"}]
    )
    assert drive(held).status == "held"
    turn_control(turn=held, by="ann", action="release", limits={"max_continuations": 8}, breakpoints=[])
    assert drive(held).status == "completed"
    turn_rerun(turn=held, overrides={"max_tokens": 400})
    assert not Prediction.objects.exists()


def test_an_unfinished_turn_has_no_prediction(cut: Turn):
    Turn.objects.filter(id=cut.id).update(status="running")
    turn_rerun(turn=Turn.objects.get(id=cut.id), overrides={"max_tokens": 400})
    assert not Prediction.objects.exists()


def test_a_live_continuation_is_predicted_as_undecidable(play: Play):
    cut = play("sim-essay", overrides={"max_tokens": 60})
    turn_go_on(turn=cut, overrides={"limits": {"max_continuations": 9, "max_total_completion_tokens": 2_000}})
    prediction = Prediction.objects.get()
    assert (prediction.kind, prediction.certainty, prediction.endings) == ("continued", "undecidable", [])


def test_a_rerun_under_the_policy_of_a_shadow_tests_the_shadows_result(play: Play, connection: Connection):
    policy_create(project=connection.project, name="wide", limits={"max_continuations": 5})
    draft = policy_create(project=connection.project, name="wide", limits={"max_continuations": 1}, activate=False)
    policies.shadow_start(version=draft)
    turn = play("sim-essay", max_tokens=150, policy=draft.policy)
    shadow_evaluation.sweep()
    turn_rerun(turn=turn, overrides={"limits": {"max_continuations": 1}})
    turn_rerun(turn=turn, overrides={"limits": {"max_continuations": 2}})
    kinds = [prediction.kind for prediction in Prediction.objects.order_by("id")]
    assert kinds == ["shadow", "rerun"]


def test_a_turn_is_stored_with_its_prediction_or_not_at_all(cut: Turn):
    class Refused(Exception):
        pass

    def refuse(*_: Any, **__: Any) -> None:
        raise Refused

    before = Turn.objects.count()
    broken = Prediction()
    broken.save = refuse  # type: ignore[method-assign]
    child = Turn(project=cut.project, agent=cut.agent, agent_name="x", provider="openai", model="m", max_tokens=9)
    with pytest.raises(Refused):
        kept_with(child, broken, lambda turn: turn.save())
    assert Turn.objects.count() == before


def test_a_prediction_cannot_be_changed_afterwards(cut: Turn):
    prediction = again_of(cut, {"limits": {"max_continuations": 1}})
    changes = ({"certainty": "certain"}, {"endings": []}, {"came_true": False}, {"kind": "check"})
    for change in changes:
        with pytest.raises(DatabaseError), transaction.atomic():
            Prediction.objects.filter(id=prediction.id).update(**change)


def test_a_recording_that_cannot_be_judged_again_can_still_be_re_run(cut: Turn):
    stored = {**cut.policy, "criterion_specs": [{"path": "no.such.Criterion", "kwargs": {}}]}
    Turn.objects.filter(id=cut.id).update(policy=stored)
    child = turn_rerun(turn=Turn.objects.get(id=cut.id), overrides={"max_tokens": 400})
    assert child.status == "queued"
    assert not Prediction.objects.exists()
