"""docs/architecture.md is current, and a turn takes the ways that it draws."""

from collections.abc import Collection

import pytest
from django.test import Client

from dashboard.agents.models import Policy
from dashboard.agents.selectors import project_default
from tests.architecture.code_paths import LIMIT, NUMBERS, TURN, Way
from tests.architecture.page import ROOT, page
from tests.dashboard.configuration.test_admin import POLICY
from tests.dashboard.documentation.traced import calls_of
from tests.dashboard.driving import Play
from tests.dashboard.pages import page as shown


def missed(way: Way, called: Collection[str]) -> list[str]:
    """What of the way was not called after what stands before it."""
    left = iter(called)
    return [function for function in way if function not in left]


def test_the_page_is_current():
    current = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert current == page(), "run: python -m tests.architecture > docs/architecture.md"


@pytest.mark.django_db(transaction=True)
def test_the_path_of_a_turn_from_bytes_to_its_page_exists(play: Play, browser: Client):
    with calls_of(TURN) as called:
        shown(browser, f"/turns/{play('sim-essay', max_tokens=900).id}")
    assert missed(TURN, called) == []


@pytest.mark.django_db(transaction=True)
def test_the_path_of_a_limit_from_the_form_to_the_verdict_exists(play: Play, admin_client: Client):
    project_default()
    with calls_of(LIMIT) as called:
        admin_client.post("/admin/agents/policy/add/", {**POLICY, "name": "short", "max_continuations": "1"})
        turn = play("sim-essay", max_tokens=40, policy=Policy.objects.get(name="short"))
        verdict = shown(admin_client, f"/turns/{turn.id}")
    assert "Max continuations" in verdict
    assert missed(LIMIT, called) == []


@pytest.mark.django_db(transaction=True)
def test_the_path_of_the_turn_page_numbers_from_their_columns_exists(play: Play, browser: Client):
    with calls_of(NUMBERS) as called:
        verdict = shown(browser, f"/turns/{play('sim-essay', max_tokens=40).id}")
    assert "max_tokens" in verdict
    assert missed(NUMBERS, called) == []
