"""A verdict that another version of the core wrote is told as this one says it, and stays stored as it was."""

import pytest
from django.test import Client

from dashboard.live.services import turn_start
from dashboard.turns.models import Turn
from dashboard.turns.seals.services import chain_some
from dashboard.turns.verdicts import verdict_now
from tests.dashboard.driving import AgentOf, Play
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)

CLAIM = "Completed after 2 continuations. With Max tokens per call (max_tokens) ≥ 12, one call would have been enough."
TODAY = "Completed after 2 continuations."


@pytest.fixture
def old(play: Play) -> Turn:
    """Written by an earlier version, which claimed more."""
    turn = play("sim-essay", max_tokens=150)
    assert turn.verdict == TODAY
    Turn.objects.filter(id=turn.id).update(core_version="4", verdict=CLAIM)
    turn.refresh_from_db()
    return turn


def test_a_claim_of_an_earlier_version_is_shown_nowhere(old: Turn, browser: Client):
    for address in (f"turns/{old.id}", f"turns/{old.id}/verdict"):
        assert browser.get(f"/api/v1/{address}").json()["verdict"] == TODAY
    assert [told["verdict"] for told in browser.get("/api/v1/turns").json()["items"]] == [TODAY]
    for address in (f"/turns/{old.id}", "/"):
        assert "≥ 12" not in page(browser, address)


def test_the_row_keeps_its_original_text_so_that_its_seal_holds(old: Turn):
    chain_some()
    verdict_now(old)
    old.refresh_from_db()
    assert (old.verdict, old.core_version) == (CLAIM, "4")


def test_an_abandoned_turn_keeps_its_stored_sentence(agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="x")
    given_up = "Interrupted: no worker took it."
    Turn.objects.filter(id=turn.id).update(status="interrupted", core_version="4", verdict=given_up)
    turn.refresh_from_db()
    assert verdict_now(turn) == given_up
