"""`manage.py calibrate`: stored turns are run again within a budget, and what came of it is told by certainty."""

import io
import json
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from agentcore.argument_validation import LARGEST_NUMBER
from agentcore.sufficient_max_tokens import enough_for_one_call
from dashboard.agents.models import Connection
from dashboard.agents.services import connection_update
from dashboard.inbox.models import Notice
from dashboard.live.services import turn_start
from dashboard.policies.predictions import calibration_state
from dashboard.policies.predictions.calibration_state import Budget, Used
from dashboard.policies.predictions.models import Calibration, Prediction
from dashboard.policies.predictions.trials import Values, left_out_for, plan_of
from dashboard.replay.usage_bounds import _sent, usage_bound
from dashboard.runtime.management.commands import calibrate as command
from dashboard.turns.history import snapshot_at
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_queue", "no_signals", "seeded")]


@pytest.fixture
def seeded(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator of the tests stays where it is."""
    monkeypatch.setattr(command, "prepare", lambda *_, **__: None)


@pytest.fixture
def no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signals of the process that runs the tests are its own."""
    import asyncio

    monkeypatch.setattr(asyncio.unix_events._UnixSelectorEventLoop, "add_signal_handler", lambda *_: None)


def told(*words: str) -> str:
    out = io.StringIO()
    try:
        call_command("calibrate", *words, "--yes", stdout=out, stderr=io.StringIO())
    except SystemExit as over:
        out.write(f"exit {over.code}\n")
    return out.getvalue()


def as_json(*words: str) -> dict[str, Any]:
    return json.loads(told(*words, "--json").splitlines()[0])


def test_calibration_states_its_cost_runs_each_turn_and_reports_what_came_true(cut: Turn):
    said = told("--max-continuations", "0,1").splitlines()
    assert said[0] == "2 re-runs of 1 stored turn under other limits."
    assert ("simulator, free" in "".join(said), "price not known" in "".join(said)) == (True, False)
    assert "Budget: 200,000 tokens. No re-run starts that could exceed it." in said
    assert any(line.startswith("[2/2] sim-essay, max_continuations 1: ") and "came true. " in line for line in said)
    assert any(
        line.split() == ["certainty", "predictions", "came", "true", "failed", "not", "compared", "share"]
        for line in said
    )
    assert said[-1] == "A share is shown once there are 20 comparisons."
    assert Prediction.objects.filter(kind="calibration", came_true=True).count() == 2
    assert {child.parent_id for child in Turn.objects.exclude(id=cut.id)} == {cut.id}
    assert Calibration.objects.get().finished_at is not None


def test_the_json_output_is_one_object(cut: Turn):
    found = as_json("--max-continuations", "0,1")
    assert (found["finished"], found["stopped_by"], found["trials"], found["begun"]) == (True, None, 2, 2)
    assert sum(counts["came_true"] for counts in found["by_certainty"].values()) == 2
    assert found["tokens"] == sum(t.input_tokens + t.output_tokens for t in Turn.objects.exclude(id=cut.id))


def test_values_on_both_sides_of_each_change_of_the_answer_are_chosen(cut: Turn):
    plan = plan_of([cut], Values(most=4), most=1)
    tokens = sorted(trial.overrides["max_tokens"] for trial in plan.trials if "max_tokens" in trial.overrides)
    rounds = sorted(
        trial.overrides["limits"]["max_continuations"] for trial in plan.trials if "limits" in trial.overrides
    )
    assert tokens, plan
    assert cut.max_tokens not in tokens
    assert any(one + 1 == other for one, other in pairwise(tokens)), tokens
    assert cut.continuations - 1 in rounds


def test_the_number_named_by_a_verdict_and_the_one_below_it_are_tried(play: Play, connection: Connection):
    connection_update(connection=connection, changes={"prefill": True})
    turn = play("sim-prefill", overrides={"max_tokens": 150})
    named = enough_for_one_call(snapshot_at(turn, turn.last_seq))
    assert named
    trials = {trial.overrides.get("max_tokens"): trial.certainty for trial in plan_of([turn], Values(), most=1).trials}
    assert trials[named] == "certain"
    assert named - 1 in trials


def test_a_turn_that_could_exceed_the_budget_is_not_started(cut: Turn):
    bound = usage_bound(cut, {"limits": {"max_continuations": 0}}).tokens
    found = as_json("--max-continuations", "0,1", "--tokens", str(bound))
    assert (found["finished"], found["stopped_by"], found["begun"]) == (False, "budget", 1)
    assert found["tokens"] <= bound
    assert "exit 1" in told("--max-continuations", "0,1", "--tokens", str(bound))
    # The same words and a larger budget: it goes on, and repeats nothing.
    found = as_json("--max-continuations", "0,1")
    assert (found["finished"], found["begun"]) == (True, 2)
    assert Turn.objects.count() == 3


@pytest.mark.parametrize("why", ["interrupted", "cancelled"])
def test_a_turn_that_lost_a_call_counts_with_its_maximum_usage(cut: Turn, why: str):
    assert as_json("--max-continuations", "0")["finished"]
    calibration, prediction = Calibration.objects.get(), Prediction.objects.get()
    used = calibration_state.used_by(calibration).tokens
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE predictions_prediction DISABLE TRIGGER refuse_update")
        Prediction.objects.update(not_compared=why, came_true=None)
        cursor.execute("ALTER TABLE predictions_prediction ENABLE TRIGGER refuse_update")
    bound = usage_bound(cut, prediction.overrides).tokens
    assert calibration_state.used_by(calibration).tokens == bound > used


def test_the_actual_usage_of_a_turn_is_never_above_its_bound(play: Play):
    for number, (model, overrides) in enumerate(
        [("sim-essay", {"max_tokens": 30}), ("sim-endless", {}), ("sim-flaky", {}), ("sim-hangup", {})]
    ):
        turn = play(model, name=f"agent-{number}", overrides=overrides)
        bound = usage_bound(turn, {})
        assert turn.attempts <= bound.calls
        assert turn.input_tokens <= bound.input_tokens
        assert turn.output_tokens <= bound.output_tokens


def test_only_its_calls_bound_the_output_of_a_turn_without_a_cap_or_total(cut: Turn):
    changes: dict[str, Any] = {
        "limits": {"max_continuations": 9},
        "error_policy": {"preset": "stop_on_any_error"},
    }
    cap, cut.policy["max_tokens"], calculated = cut.max_tokens, None, cut.setup["setup"]["max_tokens"]
    assert cap is not None
    assert usage_bound(cut, changes).output_tokens == 5 * cap
    cut.max_tokens = None
    bound = usage_bound(cut, changes)
    assert (bound.output_tokens, bound.dollars) == (bound.calls * calculated, None)
    changes["limits"]["max_total_completion_tokens"] = 200
    assert usage_bound(cut, changes).output_tokens == 2 * calculated


@given(st.integers(1, 60), st.integers(1, 50), st.integers(0, 900))
def test_a_bound_of_input_is_the_sum_over_all_calls(calls: int, cap: int, said: int):
    each = (7 + min(said, call * cap) + call * 3 for call in range(calls))
    assert _sent(calls, first=7, cap=cap, said=said, asked=3) == sum(each)


def test_a_bound_of_millions_of_calls_is_computed_quickly_and_has_no_price(cut: Turn):
    cut.setup["setup"]["tools"] = [{"name": "search", "description": "", "schema": {}}]
    many = {
        "limits": {"max_steps": 10**9, "max_continuations": 10**9},
        "error_policy": {"preset": "ignore_tool_errors"},
    }
    bound = usage_bound(cut, many)
    assert (bound.calls > 10**9, bound.dollars) == (True, None)
    assert bound.usage.output_tokens == LARGEST_NUMBER


def test_a_budget_of_money_is_respected_and_refused_where_no_price_is_known(cut: Turn):
    bound = usage_bound(cut, {})
    priced = type(bound)(bound.calls, bound.input_tokens, bound.output_tokens, Decimal("0.10"))
    assert calibration_state.is_left(Budget(None, Decimal(1)), Used(0, Decimal("0.90")), priced)
    assert not calibration_state.is_left(Budget(None, Decimal(1)), Used(0, Decimal("0.91")), priced)
    assert not calibration_state.is_left(Budget(None, Decimal(1)), Used(), bound), "it has no price"
    with pytest.raises(CommandError, match="the simulator is free for sim-essay"):
        told("--money", "1.00", "--max-continuations", "0")
    assert not Prediction.objects.exists()
    assert not Calibration.objects.exists(), "a plan that was refused is made anew the next time"


def test_a_known_price_is_shown_beforehand_and_can_be_limited(play: Play):
    turn = play("gpt-4o", max_tokens=400)
    assert turn.status == "failed", "the simulator knows no such model; its price is known all the same"
    Turn.objects.filter(pk=turn.pk).update(model_stop_reason="end_turn")  # by another server than the simulator
    bound = usage_bound(turn, {"limits": {"max_continuations": 0}})
    assert bound.dollars is not None
    assert bound.dollars > 0
    said = told("--max-continuations", "0", "--money", "2.50")
    assert "at list prices" in said
    assert "Budget: 200,000 tokens and $2.50." in said
    assert "came true" in said
    stopped = as_json("--max-continuations", "0,1", "--money", "0.0001")
    assert (stopped["begun"], stopped["stopped_by"], stopped["dollars"]) == (0, "budget", 0.0)


def test_a_failed_certain_prediction_is_repeated_once_under_the_recorded_policy(
    cut: Turn, monkeypatch: pytest.MonkeyPatch
):
    from dashboard.policies.predictions import outcome_comparison

    honest = outcome_comparison.Ending.differences

    def differing(self: Any, actual: Any) -> list[dict[str, Any]]:
        wrong = actual.terminal_reason == "retry_limit"
        return honest(self, actual) or ([{"field": "text", "predicted": "a", "actual": "b"}] if wrong else [])

    monkeypatch.setattr(outcome_comparison.Ending, "differences", differing)
    found = as_json("--max-continuations", "1")
    (failed,) = found["failed"]
    assert (failed["parent_id"], failed["reason"]) == (str(cut.id), "defect")
    assert Prediction.objects.filter(kind="check").count() == 1
    assert "either Whystop was wrong" in told("--max-continuations", "1", "--anew")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--filter", "model"), "write NAME=VALUE"),
        (("--filter", "model=none"), "No stored turn can be run again under other limits. None was found"),
        (("00000000-0000-0000-0000-000000000000",), "There is no turn 00000000"),
        (("--money", "much"), "must be an amount in dollars"),
        (("--max-tokens", "ten"), "write whole numbers"),
        (("--turns", "0"), "a whole number above 0"),
    ],
)
def test_an_impossible_request_is_explained_in_a_sentence(words: tuple[str, ...], sentence: str):
    with pytest.raises(CommandError, match=sentence):
        told(*words)


def test_nothing_starts_without_confirmation(cut: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(CommandError, match="Add --yes"):
        call_command("calibrate", stdout=io.StringIO())
    assert Turn.objects.count() == 1
    assert not Calibration.objects.exists()


@pytest.mark.parametrize("answer", ["n", "", None])
def test_declining_starts_nothing(cut: Turn, answer: str | None, monkeypatch: pytest.MonkeyPatch):
    def asked(_: str) -> str:
        if answer is None:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", asked)
    with pytest.raises(CommandError, match="Not started"):
        call_command("calibrate", stdout=io.StringIO())
    assert not Calibration.objects.exists()


def test_a_value_that_cannot_be_tried_is_omitted_with_the_reason(cut: Turn):
    with pytest.raises(CommandError, match=r"max_tokens\) must be a whole number from 1 to 10,000,000"):
        told("--max-tokens", "0")
    assert "(Max continuations (max_continuations) must be" in told("--max-continuations", "1,99999")


def test_after_three_calls_without_an_answer_calibration_stops_and_counts_none(cut: Turn, connection: Connection):
    values, at = ("--max-continuations", "0,1,2,3,4"), Connection.objects.filter(id=connection.id)
    at.update(base_url=f"{connection.base_url}/nowhere")
    said = told(*values)
    at.update(base_url=connection.base_url)
    assert said.count("not compared (the provider answered no call: ") == 3
    assert "Stopped: the provider answered no call of the last re-runs." in said
    assert said.endswith("exit 1\n")
    assert not Prediction.objects.exclude(came_true=None).exists()
    assert not Notice.objects.exists()
    # Once it answers, the same words run them all.
    found = as_json(*values)
    assert (found["finished"], found["begun"]) == (True, found["trials"])
    assert sum(counts["came_true"] for counts in found["by_certainty"].values()) == found["trials"]


def test_results_of_an_earlier_run_are_not_repeated(cut: Turn):
    bound = usage_bound(cut, {"limits": {"max_continuations": 0}}).tokens
    assert "[1/2]" in told("--max-continuations", "0,1", "--tokens", str(bound))
    said = told("--max-continuations", "0,1")
    assert "[1/2]" not in said
    assert "[2/2]" in said


def test_turns_that_cannot_be_repeated_exactly_are_omitted_with_the_reason(
    cut: Turn, play: Play, agent_of: AgentOf, connection: Connection
):
    tools = play("sim-tools", tools=["calculator"])
    assert "tools" in left_out_for(tools)
    assert "have not ended" in left_out_for(turn_start(agent=agent_of("sim-odd"), input_text="Why?"))
    assert left_out_for(cut) == ""
    told("--max-continuations", "1", str(cut.id))
    made = Turn.objects.get(parent=cut)
    assert left_out_for(made) == "that a calibration made"
    with pytest.raises(CommandError, match="cannot be run again: calibrate skips turns whose agent has tools"):
        told(str(tools.id))
    connection_update(connection=connection, changes={"prefill": True})
    assert "connection has been changed" in left_out_for(Turn.objects.get(id=cut.id))


def test_a_turn_erased_in_the_meantime_is_skipped(cut: Turn, play: Play):
    plan = plan_of([cut], Values(max_continuations=(0,)), most=1)
    calibration = calibration_state.calibration_begin(project=cut.project, key="x", plan=plan)
    (trial,) = calibration_state.trials_of(calibration)
    Turn.objects.filter(id=cut.id).delete()
    with pytest.raises(Exception, match="erased"):
        calibration_state.trial_begin(calibration=calibration, place=0, trial=trial)


def test_a_trial_is_started_once(cut: Turn):
    plan = plan_of([cut], Values(max_continuations=(0,)), most=1)
    calibration = calibration_state.calibration_begin(project=cut.project, key="x", plan=plan)
    (trial,) = calibration_state.trials_of(calibration)
    first = calibration_state.trial_begin(calibration=calibration, place=0, trial=trial)
    assert calibration_state.trial_begin(calibration=calibration, place=0, trial=trial) == first
    assert calibration_state.used_by(calibration).tokens == usage_bound(cut, trial.overrides).tokens, "while it runs"
    child = drive(Turn.objects.get(id=first.child_id))
    assert calibration_state.used_by(calibration).tokens == child.input_tokens + child.output_tokens
