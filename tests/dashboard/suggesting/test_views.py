"""From a truncated turn to a changed limit: found by a live re-run, backtested, and used."""

import pytest
from django.test import Client

from dashboard.agents.models import Agent, PolicyVersion
from dashboard.agents.selectors import policy_version_active
from dashboard.backtests.models import Backtest
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def test_the_limit_is_found_live_with_a_backtest_beside_it_and_used_for_the_agent(browser: Client, cut: Turn):
    pending = browser.post(f"/turns/{cut.id}/limit/find", headers=HTMX).content.decode()
    assert "in progress" in pending
    assert 'hx-trigger="every 1s"' in pending
    again = drive(cut.children.get())
    found = browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()
    assert f"With max_tokens {again.output_tokens} the turn finishes." in text_of(found)
    assert f"Use {again.output_tokens} for sim-essay" in found
    assert Backtest.objects.get().max_tokens == again.max_tokens
    told = browser.post(f"/turns/{cut.id}/limit/use", {"value": again.output_tokens}, follow=True).content.decode()
    assert f"max_tokens of sim-essay changed from 60 to {again.output_tokens}." in told
    assert Agent.objects.get(name="sim-essay").max_tokens == again.output_tokens
    assert "Use " not in browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()


def test_a_limit_of_a_policy_becomes_a_draft_of_it(browser: Client, play: Play):
    turn = play("sim-flaky")
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "3"})
    draft = PolicyVersion.objects.order_by("-created_at").first()
    assert draft is not None
    assert (draft.error_policy["on_rate_limit_error"], draft.error_policy["max_retries"]) == ("retry", 3)
    agent = Agent.objects.get(name="sim-flaky")
    assert agent.policy == draft.policy
    assert policy_version_active(policy=draft.policy) != draft


def test_no_draft_is_offered_that_would_lower_what_the_next_turn_has_already(browser: Client, play: Play):
    turn = play("sim-tools", tools=["calculator"], overrides={"limits": {"max_steps": 1}})
    browser.post(f"/turns/{turn.id}/limit/find", headers=HTMX)
    assert drive(turn.children.get()).status == "completed"
    panel = browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()
    assert "the turn finishes" in panel
    assert "Draft Max steps" not in panel


def test_what_cannot_be_used_is_said_and_nothing_changes(browser: Client, cut: Turn, play: Play):
    whole = play("sim-odd")
    for address, given, said in (
        (f"/turns/{cut.id}", {"value": "-1"}, "The value must be a whole number."),
        (f"/turns/{cut.id}", {"value": "99999999999"}, "max_tokens must be"),
        (f"/turns/{whole.id}", {"value": "9"}, "No limit would have let this turn finish"),
    ):
        assert said in text_of(browser.post(f"{address}/limit/use", given, follow=True).content.decode())
    assert Agent.objects.get(name="sim-essay").max_tokens == 60
    none = browser.post(f"/turns/{whole.id}/limit/find", headers=HTMX).content.decode()
    assert "No limit would have let this turn finish." in none


def test_without_scripts_finding_leads_back_to_the_page_of_the_turn(browser: Client, cut: Turn):
    response = browser.post(f"/turns/{cut.id}/limit/find")
    assert response["Location"] == f"/turns/{cut.id}"
    assert "in progress" in page(browser, f"/turns/{cut.id}")
