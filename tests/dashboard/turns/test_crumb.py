"""The path above a page of a turn: the same from every page, with the turn's agent and id as its way back."""

import re

import pytest
from django.test import Client

from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = {
    "attempts/1/raw": "Call 1",
    "transcript": "The whole answer",
    "replay": "Replay",
    "replay/sweep": "Replay",
    "replay/again": "Replay",
    "share": "Share",
    "operate": "Change the turn",
}


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", overrides={"max_tokens": 60})


def test_every_page_of_a_turn_leads_back_to_it_by_the_same_name(browser: Client, cut: Turn):
    shown = {path: crumb(page(browser, f"/turns/{cut.id}/{path}")) for path in PAGES}
    turn = f"{cut.agent_name} {str(cut.id)[:13]}…"
    assert shown == {path: f"Timeline / {turn} / {here}" for path, here in PAGES.items()}


def crumb(html: str) -> str:
    """The words of the path."""
    path = re.search(r'<p class="crumb">(.*?)</p>', html, re.DOTALL)
    assert path
    return " ".join(re.sub(r"<[^>]+>", "", path[1]).split())
