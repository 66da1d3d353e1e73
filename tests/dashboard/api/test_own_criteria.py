"""Criteria of one's own, over the API: made with a policy, asked in a turn, shown, and verified afterwards."""

import contextlib
import io

import pytest
from django.core.management import call_command
from django.test import Client

from dashboard.agents.models import Policy, PolicyVersion
from dashboard.turns.models import Turn
from tests.dashboard.api.conftest import Program
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.own_criteria import NAME

pytestmark = pytest.mark.django_db(transaction=True)

ONE_MORE = {"path": f"{NAME}.OneMore", "kwargs": {"message": "And what else?"}}
PATIENCE = {"path": f"{NAME}.Patience", "kwargs": {"calls": 2}}


@pytest.fixture(autouse=True)
def listed(settings):
    settings.CRITERIA_MODULES = (NAME,)


@pytest.fixture
def asked(api: Program, agent_of: AgentOf):
    """A turn of an agent under a policy with these words, driven to where it stops."""

    def ask(model: str, said: dict, *, turn: dict | None = None, **agent) -> Turn:
        answer = api.post("/policies", {"name": "own", **said})
        assert answer.status_code == 201, answer.content
        agent_of(model, policy=Policy.objects.get(name="own"), **agent)
        started = api.post("/turns", {"agent": model, "input": "Why do agents stop?", **(turn or {})}).json()
        return drive(Turn.objects.get(pk=started["id"]))

    return ask


def evaluations_of(api: Program, turn: Turn, name: str) -> list[dict]:
    rows = api.get(f"/turns/{turn.id}/evaluations").json()
    return [said for row in rows for said in row["evaluations"] if said["criterion"] == name]


def replayed(api: Program, turn: Turn, **body) -> dict:
    return api.post(f"/turns/{turn.id}/replay", {"mode": "verify", **body}).json()


def test_another_answer_is_requested_with_the_criterions_message(api: Program, asked):
    turn = asked("sim-essay", {"criteria": [ONE_MORE]})
    attempts = api.get(f"/turns/{turn.id}/attempts").json()
    assert [attempt["kind"] for attempt in attempts] == ["initial", "requested"]
    assert attempts[1]["request"]["messages"][-1] == {"role": "user", "content": "And what else?"}
    assert evaluations_of(api, turn, "OneMore")[0] == {
        "criterion": "OneMore",
        "decision": "request",
        "reason": "one answer is not enough",
        "context": {"iteration": 1},
        "message": "And what else?",
    }
    assert api.get(f"/turns/{turn.id}").json()["status"] == "completed"
    assert replayed(api, turn) == {"verified": True, "divergence": None, "missing": [], "vouched_by": "here"}


def test_a_forbid_ends_the_turn_with_the_criterions_stop_reason(api: Program, asked):
    turn = asked("sim-essay", {"criteria": [PATIENCE]}, max_tokens=60)
    shown = api.get(f"/turns/{turn.id}").json()
    assert (shown["status"], shown["stop_reason"], shown["terminal_reason"]) == ("partial", "steps_limit", "forbidden")
    assert shown["attempts"] == 2
    assert evaluations_of(api, turn, "Patience")[-1] == {
        "criterion": "Patience",
        "decision": "forbid",
        "reason": "2 of 2 calls",
        "context": {"used": 2, "limit": 2},
    }
    assert replayed(api, turn)["verified"]
    assert "Replay verified" in _told(turn)


def test_a_finish_reason_that_is_final_forbids_the_continuation(api: Program, asked):
    turn = asked("sim-essay", {"finish_reasons": ["max_tokens"]}, max_tokens=60)
    assert (turn.attempts, turn.stop_reason, turn.terminal_reason) == (1, "finish_reason", "forbidden")
    assert replayed(api, turn)["verified"]


def test_the_built_in_content_check_continues_until_the_answer_suffices(api: Program, asked, settings):
    settings.CRITERIA_MODULES = ()
    check = {"path": "ResponseContentCheck", "kwargs": {"message": "Name your sources.", "must_contain": ["sources:"]}}
    turn = asked("sim-essay", {"criteria": [check], "limits": {"max_steps": 2}})
    attempts = api.get(f"/turns/{turn.id}/attempts").json()
    assert attempts[1]["request"]["messages"][-1]["content"] == "Name your sources."
    assert len(attempts) == 2
    assert replayed(api, turn)["verified"]


def test_what_if_and_backtest_use_the_same_criteria(api: Program, asked):
    from dashboard.policies.backtests import runner

    turn = asked("sim-essay", {"criteria": [PATIENCE]}, max_tokens=150)
    assert turn.terminal_reason == "forbidden"
    imagined = replayed(api, turn, mode="what_if", overrides={"max_tokens": 75})
    assert (imagined["attempts"], imagined["terminal_reason"]) == (2, "forbidden")

    draft = {"criteria": [{**PATIENCE, "kwargs": {"calls": 1}}]}
    made = api.post("/backtests", {"policy": draft}).json()
    runner.run(made["id"])
    tried = api.get(f"/backtests/{made['id']}").json()
    assert (tried["done"], tried["calls_delta"], tried["undecidable"]) == (1, -1, 0)


def test_a_criterion_that_cannot_be_built_is_refused_by_field_and_nothing_is_stored(api: Program):
    wrong = api.problem("/policies", {"name": "own", "criteria": [{"path": "os.system"}]})
    assert wrong["criteria"].startswith("Criterion 1: There is no criterion “os.system”")
    wrong = api.problem("/backtests", {"policy": {"criteria": [{"path": f"{NAME}.Silent"}]}})
    assert "neither decide nor explain" in wrong["policy.criteria"]
    assert not PolicyVersion.objects.exists()


def test_a_turn_whose_criterion_is_gone_is_read_but_not_judged_again(api: Program, asked, browser: Client, settings):
    turn = asked("sim-essay", {"criteria": [ONE_MORE]})
    settings.CRITERIA_MODULES = ()
    found = replayed(api, turn)
    assert found["verified"] is False
    assert found["divergence"]["replayed"]["error"].startswith(f"There is no criterion “{NAME}.OneMore”")
    wrong = api.problem(f"/turns/{turn.id}/replay", {"mode": "what_if", "overrides": {"max_tokens": 60}})
    assert "There is no criterion" in next(iter(wrong.values()))
    for address in (f"/turns/{turn.id}", f"/turns/{turn.id}/replay", f"/turns/{turn.id}/replay?max_tokens=60"):
        assert browser.get(address).status_code == 200
    page = browser.post(f"/turns/{turn.id}/replay/verify").content.decode()
    assert "There is no criterion" in page
    assert "There is no criterion" in _told(turn)
    assert "There is no criterion" in api.get("/policies/own").json()["warnings"][0]


def test_a_running_turn_whose_criterion_is_missing_ends_with_an_error(api: Program, asked, settings):
    held = {"breakpoints": [{"state": "continue_pending"}]}
    turn = asked("sim-essay", {"criteria": [{**PATIENCE, "kwargs": {"calls": 9}}]}, turn=held, max_tokens=60)
    assert turn.status == "held"
    settings.CRITERIA_MODULES = ()
    api.post(f"/turns/{turn.id}/control", {"action": "release"})
    drive(turn)
    assert (turn.status, turn.stop_reason, turn.terminal_reason) == ("partial", "error", "forbidden")
    assert "There is no criterion" in turn.notice


def test_a_resumed_turn_keeps_the_recorded_evaluations_of_missing_criteria(api: Program, asked, settings):
    turn = asked("sim-essay", {"criteria": [ONE_MORE]}, turn={"breakpoints": [{"state": "evaluate_stop"}]})
    api.post(f"/turns/{turn.id}/control", {"action": "release"})
    assert drive(turn).status == "held"
    assert turn.attempts == 2
    settings.CRITERIA_MODULES = ()
    api.post(f"/turns/{turn.id}/control", {"action": "release"})
    assert drive(turn).status == "completed"
    decisions = [said["decision"] for said in evaluations_of(api, turn, "OneMore")]
    assert decisions == ["request", "forbid"]


def _told(turn: Turn) -> str:
    out = io.StringIO()
    with contextlib.suppress(SystemExit):
        call_command("replay", str(turn.id), stdout=out)
    return out.getvalue()
