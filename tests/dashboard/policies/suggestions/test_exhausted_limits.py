"""A value to try, again and again: what has to be raised beside it grows too, and its costs are those of all of it."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from agentcore.events import Otherwise
from agentcore.replay import Certainty
from dashboard.live.services import approvals_expire, turn_cancel, turn_start
from dashboard.policies.suggestions.exhausted_limits import exhausted_limit_of
from dashboard.policies.suggestions.need_by_row import may_need_a_limit
from dashboard.policies.suggestions.panel import last_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.services import limit_find, policy_draft
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.end_summary import end_orders, end_summary_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import HTMX, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)

CHARACTERS = {"max_total_output_chars": 300, "max_continuations": 20}


@pytest.fixture
def endless(play: Play) -> Turn:
    return play("sim-endless", max_tokens=40, overrides={"limits": CHARACTERS})


def told(turn: Turn) -> Suggestion:
    said = suggestion_for(turn)
    assert said is not None
    return said


def again(turn: Turn, overrides: dict[str, Any]) -> Turn:
    return drive(turn_rerun(turn=turn, overrides=overrides))


def test_a_live_run_uses_no_more_than_the_announced_maximum(endless: Turn):
    said = told(endless)
    assert said.costs is not None
    assert "max_total_completion_tokens" in said.overrides["limits"]
    tried = again(endless, said.overrides)
    assert tried.output_tokens <= said.costs.most_tokens


def test_a_second_run_is_ended_only_by_the_limit_being_tried(endless: Turn):
    values = []
    for _ in range(2):
        said = told(endless)
        values.append(said.value)
        tried = again(endless, said.overrides)
        assert (tried.terminal_reason, said.basis) == ("output_cap", Basis.NONE)
    assert values == [1_200, 4_800]
    assert told(endless).value == 19_200


def test_the_result_of_a_second_run_is_shown_with_its_value(play: Play):
    turn = play("sim-essay", max_tokens=40, overrides={"limits": {"max_total_output_chars": 100}})
    first, given = told(turn), None
    assert first.basis is Basis.NONE
    for _ in range(4):
        if (said := told(turn)).basis is not Basis.NONE:
            break
        given = again(turn, said.overrides)
    assert (said.basis, said.limit, said.rerun) == (Basis.RERUN, "max_total_output_chars", given and given.id)
    beside = {name: value for name, value in said.overrides["limits"].items() if name != said.limit}
    had = (given.overrides if given else {})["limits"]
    assert all(value <= had[name] for name, value in beside.items()), "as much as the re-run used"
    assert beside, "more characters need more calls"
    assert again(turn, said.overrides).status == "completed"


def test_a_run_with_less_of_the_exhausted_limit_shows_nothing(endless: Turn):
    again(endless, {"limits": {"max_total_output_chars": 4_800, "max_continuations": 3}})
    assert told(endless).value == 1_200


def test_such_a_turn_that_an_earlier_version_stored_names_the_time_in_its_row_too(agent_of: AgentOf, browser: Client):
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"], "seconds": 600})
    turn = drive(turn_start(agent=agent, input_text="Count."))
    Turn.objects.filter(id=turn.id).update(started_at=timezone.now() - timedelta(hours=1))
    assert approvals_expire() == 1
    drive(turn)
    Turn.objects.filter(id=turn.id).update(resource=None, core_version="15")
    row = text_of(page(browser, "/"))
    assert "Approval time limit reached" in row
    assert "Tool error" not in row
    assert end_orders(Turn.objects.filter(id=turn.id))[turn.id].endswith("Approval time limit reached"), (
        "sorted so, too"
    )


@pytest.mark.parametrize("otherwise", [Otherwise.REFUSE, Otherwise.CANCEL])
def test_a_turn_that_nobody_approved_in_time_names_the_time_and_no_tool_error(
    agent_of: AgentOf, browser: Client, otherwise: Otherwise
):
    approvals = {"tools": ["calculator"], "seconds": 600, "otherwise": otherwise.value}
    agent = agent_of("sim-tools", tools=["calculator"], approvals=approvals)
    turn = drive(turn_start(agent=agent, input_text="Count."))
    Turn.objects.filter(id=turn.id).update(started_at=timezone.now() - timedelta(hours=1))
    assert approvals_expire() == 1
    drive(turn)
    assert may_need_a_limit(turn)
    calls = "calls" if otherwise is Otherwise.REFUSE else "call"  # of a cancelled turn, the tools alone are told
    assert f"nobody approved the {calls} of calculator within 600 seconds" in turn.verdict
    assert "With a higher approval time limit (approvals.seconds)" in turn.verdict
    assert (turn.resource, end_summary_of(turn).detail) == ("approvals.seconds", "Approval time limit reached")
    assert turn.verdict.startswith(end_summary_of(turn).words)
    said = told(turn)
    assert (said.limit, said.value, said.recorded, said.overrides) == ("approvals.seconds", 2_400, 600, {})
    assert (said.certainty, said.basis, said.costs) == (Certainty.UNDECIDABLE, Basis.NONE, None)
    panel = text_of(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode())
    assert (
        "not known With a higher approval time limit (approvals.seconds), the turn would have waited longer." in panel
    )
    assert "It waited 600 s. Whether a person would have answered is not known." in panel
    assert f"Change it for {agent.name}" in panel
    assert "Find the limit" not in panel
    with pytest.raises(ValidationError, match="agent's page"):
        limit_find(turn=turn, suggestion=said)
    with pytest.raises(ValidationError, match="agent's page"):
        policy_draft(turn=turn, suggestion=said, value=700, by=None, why="")


def test_a_turn_that_a_person_cancelled_needs_no_limit(agent_of: AgentOf):
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"], "seconds": 600})
    turn = drive(turn_start(agent=agent, input_text="Count."))
    turn_cancel(turn=turn, by="ada")
    drive(turn)
    last = last_of(turn)
    assert last is not None
    assert exhausted_limit_of(turn, last) is None, "its row alone does not tell who cancelled it"
