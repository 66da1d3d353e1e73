"""The three replays and backtests, over the API."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from agentcore.replay import Why
from dashboard.api import replay_response_schemas
from dashboard.live import driver
from dashboard.live.services import turn_control, turn_start
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.simulator.texts import ESSAY
from dashboard.turns.models import Record, Turn
from tests.dashboard.api.conftest import Program
from tests.dashboard.api.test_turns import RECORD, TURN
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.policies.backtests.two_policies import play_layered
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def turn(play: Play) -> Turn:
    """A turn that was cut, continued and completed."""
    return play("sim-essay", overrides={"max_tokens": 150})


def replay(api: Program, turn: Turn, body: dict) -> tuple[int, dict]:
    response = api.post(f"/turns/{turn.id}/replay", body)
    return response.status_code, response.json()


def test_a_recorded_turn_verifies(api: Program, turn: Turn):
    assert replay(api, turn, {"mode": "verify"}) == (
        200,
        {"verified": True, "divergence": None, "missing": [], "vouched_by": "here"},
    )


def test_a_tampered_history_diverges_at_the_tampered_record(api: Program, turn: Turn):
    last = Record.objects.filter(turn_id=turn.id).order_by("-seq").first()
    row = {"seq": last.seq + 1, "at": last.at, "event": last.event, "command": {"type": "hold"}, "core_version": "1"}
    Record.objects.create(turn_id=turn.id, **row)
    status, verification = replay(api, turn, {"mode": "verify"})
    assert (status, verification["verified"]) == (200, False)
    assert set(verification["divergence"]) == {"seq", "recorded", "replayed"}
    assert verification["divergence"]["seq"] == last.seq + 1


def test_a_what_if_does_not_count_time_held_by_an_operator(
    api: Program, agent_of: AgentOf, monkeypatch: pytest.MonkeyPatch
):
    agent = agent_of("sim-essay", max_tokens=2000)
    held = drive(turn_start(agent=agent, input_text="hi", breakpoints=[{"state": "evaluate_stop"}]))
    monkeypatch.setattr(driver, "_now", lambda: datetime.now(UTC) + timedelta(seconds=90))
    turn_control(turn=held, by="ada", action="release")
    ended = drive(held)
    assert ended.duration_ms is not None
    assert ended.duration_ms >= 90_000
    for limits in ({}, {"max_continuations": 9}):
        _, imagined = replay(api, ended, {"mode": "what_if", "overrides": {"limits": limits}})
        assert imagined["duration_ms"] < 90_000


def test_what_if_with_a_larger_budget_is_one_call_with_the_same_text(api: Program, turn: Turn):
    status, imagined = replay(api, turn, {"mode": "what_if", "overrides": {"max_tokens": 400}})
    assert status == 200
    of_the_turn = [name for name in TURN if name != "suggestion"]  # which is about the turn as it was
    assert list(imagined) == [
        *of_the_turn,
        *["output_tokens_range", "steps", "undecidable", "why", "stopped", "certainty", "assumes", "endings"],
        "known_limit",
    ]
    assert (imagined["status"], imagined["attempts"], imagined["undecidable"]) == ("completed", 1, False)
    assert imagined["output_text"] == ESSAY
    assert imagined["id"] == str(turn.id)
    assert [list(step) for step in imagined["steps"]] == [[*RECORD, "provenance", "certainty", "assumes"]] * 2
    assert {step["provenance"] for step in imagined["steps"]} <= {"recorded", "derived"}
    assert Turn.objects.get().attempts == turn.attempts


def test_a_what_if_gives_its_certainty_as_a_whole_and_per_step(api: Program, turn: Turn):
    _, recorded = replay(api, turn, {"mode": "what_if"})
    assert (recorded["certainty"], recorded["assumes"], recorded["endings"]) == ("recorded", [], [])
    assert {step["certainty"] for step in recorded["steps"]} == {"recorded"}
    _, other = replay(api, turn, {"mode": "what_if", "overrides": {"max_tokens": 400}})
    assert other["certainty"] != "recorded"
    _, open_end = replay(api, turn, {"mode": "what_if", "overrides": {"model": "another"}})
    assert open_end["certainty"] == "undecidable"


def test_what_if_reports_where_the_recording_ends(api: Program, play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    _, imagined = replay(api, turn, {"mode": "what_if", "overrides": {"max_tokens": 400}})
    assert (imagined["undecidable"], imagined["status"]) == (True, "interrupted")
    assert imagined["verdict"].startswith("Not known: the recording ends here, and the model would have continued.")
    assert imagined["why"] == "more_text"


@pytest.mark.parametrize("overrides", [{"model": "another"}, {"system_prompt": "Be brief."}])
def test_results_of_other_prompts_are_not_attributed_to_a_budget(api: Program, turn: Turn, overrides: dict[str, str]):
    _, imagined = replay(api, turn, {"mode": "what_if", "overrides": overrides})
    assert imagined["why"] == "other_request"
    words = "Not known: a call would send a request that no recorded call sent. Re-run live to find out."
    assert imagined["verdict"] == words


def test_what_if_without_overrides_equals_the_recording(api: Program, turn: Turn):
    _, imagined = replay(api, turn, {"mode": "what_if"})
    assert {step["provenance"] for step in imagined["steps"]} == {"recorded"}
    assert imagined["output_text"] == turn.output_text


def test_a_rerun_is_a_separate_turn_with_a_parent(api: Program, turn: Turn):
    status, made = replay(api, turn, {"mode": "rerun", "overrides": {"max_tokens": 400}})
    assert (status, set(made), made["parent_id"]) == (201, {"id", "parent_id"}, str(turn.id))
    drive(Turn.objects.get(pk=made["id"]))
    again = api.get(f"/turns/{made['id']}").json()
    assert (again["attempts"], again["parent_id"], again["forked_at"]) == (1, str(turn.id), None)
    assert again["output_text"] == ESSAY


def test_a_rerun_may_fork_at_a_record(api: Program, turn: Turn):
    status, made = replay(api, turn, {"mode": "rerun", "overrides": {"max_tokens": 400}, "from_record": 2})
    assert status == 201
    assert api.get(f"/turns/{made['id']}").json()["forked_at"] == 2


@together
@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "mode"),
        ({"mode": "guess"}, 422, "mode"),
        ({"mode": "verify", "overrides": {}}, 422, "overrides"),
        ({"mode": "what_if", "overrides": {"max_token": 1}}, 422, "overrides.max_token"),
        ({"mode": "what_if", "overrides": {"max_tokens": 0}}, 400, "overrides.max_tokens"),
        ({"mode": "rerun", "overrides": {"limits": {"x": 1}}}, 400, "overrides.limits"),
        ({"mode": "rerun", "from_record": "2"}, 422, "from_record"),
        ({"mode": "rerun", "from_record": 99}, 400, "from_record"),
    ],
)
def test_an_impossible_replay_is_refused(api: Program, turn: Turn, body, status, field):
    assert set(api.problem(f"/turns/{turn.id}/replay", body, status)) == {field}
    assert Turn.objects.count() == 1


def test_a_rerun_may_use_another_prompt_and_connection_and_hold(api: Program, turn: Turn):
    words = {"messages": [{"place": 1, "text": "And people?"}], "breakpoints": [{"state": "evaluate_stop"}]}
    status, made = replay(api, turn, {"mode": "rerun", "connection": "simulator", **words})
    child = drive(Turn.objects.get(pk=made["id"]))
    assert (status, child.input_text, child.status) == (201, "And people?", "held")
    body = {"mode": "rerun", "connection": "far"}
    assert set(api.problem(f"/turns/{turn.id}/replay", body, 400)) == {"connection"}
    for result in ({"a": 1}, None):
        body = {"mode": "rerun", "tool_results": [{"call_id": "x", "result": result}]}
        assert set(api.problem(f"/turns/{turn.id}/replay", body, 400)) == {"results"}


def test_a_sweep_names_the_smallest_value_that_completes(api: Program, turn: Turn):
    body = {"mode": "sweep", "limit": "max_continuations", "begin": 0, "end": 5}
    status, found = replay(api, turn, body)
    assert status == 200
    assert (found["least"], found["sure"], found["tried"]) == (turn.continuations, True, 6)
    assert found["certain"] == found["likely"] == {"since": turn.continuations, "first": turn.continuations}
    assert [point["value"] for point in found["points"]] == list(range(6))
    told = {"value", "ends", "completed", "output_tokens", "attempts", "price", "seconds", "certainty", "why"}
    assert set(found["points"][0]) == told | {
        "ends_in_words", "output_tokens_range", "output_tokens_at_most", "certainty_in_words",
    }  # fmt: skip
    assert found["points"][0]["price"] is None
    assert Turn.objects.count() == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"limit": "x"}, "limit"),
        ({"end": -1}, "end"),
        ({"step": 0}, "step"),
        ({"overrides": {"max_tokens": 0}}, "overrides.max_tokens"),
    ],
)
def test_an_impossible_sweep_is_refused_by_field(api: Program, turn: Turn, wrong, field):
    body = {"mode": "sweep", "limit": "max_continuations", "begin": 0, "end": 5, **wrong}
    assert set(api.problem(f"/turns/{turn.id}/replay", body, 400)) == {field}


def test_a_backtest_covers_the_turns_found_by_its_filter(api: Program, play: Play):
    play("sim-essay", overrides={"max_tokens": 60})
    filters = {"stop_reason": "retry_limit", "has": ["continuation"]}
    body = {"policy": {"name": "curt", "limits": {"max_continuations": 1}}, "filter": filters}
    response = api.post("/backtests", body)
    assert (response.status_code, set(response.json())) == (201, {"id"})
    path = f"/backtests/{response.json()['id']}"
    assert api.get(path).json()["status"] == "queued"
    runner.run(Backtest.objects.get().id)
    result = api.get(path).json()
    expected = {
        "status": "done",
        "total": 1,
        "done": 1,
        "same": 1,
        "flipped": 0,
        "undecidable": 0,
        "tokens_delta": -120,
        "calls_delta": -2,
        "flipped_turns": [],
    }
    assert {name: result[name] for name in expected} == expected
    assert (result["flips"], result["max_tokens"], len(result["groups"])) == ([], None, 1)


def test_a_draft_replaces_the_policy_it_belongs_to_or_is_used_alone(api: Program, play: Play):
    play_layered(play)
    answers = {}
    for stands_for in ("own", None):
        body = {"policy": {"limits": {"max_steps": 9}}, "stands_for": stands_for}
        path = f"/backtests/{api.post('/backtests', body).json()['id']}"
        runner.run(Backtest.objects.latest("id").id)
        found = api.get(path).json()
        answers[found["stands_for"]] = (found["same"], found["unended"])
    assert answers == {"own": (1, 0), None: (0, 1)}
    shown, listed = found, api.get("/backtests").json()["items"][0]
    assert (shown["undecidable"], shown["unended"]) == (listed["undecidable"], listed["unended"]) == (0, 1)
    assert [(group["undecidable"], group["unended"]) for group in shown["groups"]] == [(0, 1)]
    assert "no policy “theirs”" in api.problem("/backtests", {"policy": {}, "stands_for": "theirs"})["stands_for"]


def test_an_invalid_backtest_is_refused_by_field(api: Program):
    assert set(api.problem("/backtests", {"policy": {"limits": {"x": 1}}})) == {"policy.limits"}
    assert set(api.problem("/backtests", {"policy": {"tool_calls_on_truncation": "x"}})) == {
        "policy.tool_calls_on_truncation"
    }
    wrong = api.problem("/backtests", {"policy": {}, "filter": {"status": "done", "colour": "red", "q": 5}})
    assert set(wrong) == {"filter.status", "filter.colour", "filter.q"}
    assert set(api.problem("/backtests", {"policy": {"limit": {}}}, 422)) == {"policy.limit"}
    assert api.get("/backtests/01a1fbc5-27eb-74dc-9e07-332dcdb1f422").status_code == 404


def test_the_api_names_every_reason_of_an_undecidable_result():
    assert get_args(replay_response_schemas.Why) == tuple(Why)
