"""A turn is tagged from its own page."""

import re
from uuid import uuid4

import pytest
from django.test import Client

from dashboard.timeline.models import BulkAction
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def turn(play: Play) -> Turn:
    return play("sim-odd")


def test_tags_are_put_on_and_lead_to_turns_tagged_alike(browser: Client, turn: Turn):
    response = browser.post(f"/turns/{turn.id}/tags", {"add": "odd & new, later,"})
    assert response["Location"] == f"/turns/{turn.id}#tags"
    turn.refresh_from_db()
    assert turn.tags == ["odd & new", "later"]
    html = page(browser, f"/turns/{turn.id}")
    (link, _) = re.findall(r'<a href="(/\?tag=[^"]*)"', html)
    assert str(turn.id) in page(browser, link)
    assert BulkAction.objects.get().added == ["odd & new", "later"]


def test_a_tag_is_taken_off(browser: Client, turn: Turn):
    Turn.objects.filter(pk=turn.pk).update(tags=["odd", "later"])
    assert 'aria-label="Remove odd"' in page(browser, f"/turns/{turn.id}")
    browser.post(f"/turns/{turn.id}/tags", {"remove": "odd"})
    turn.refresh_from_db()
    assert turn.tags == ["later"]


def test_what_is_no_tag_is_refused_in_words(browser: Client, turn: Turn):
    html = browser.post(f"/turns/{turn.id}/tags", {"add": "x" * 65}, follow=True).content.decode()
    assert "A tag has 1 to 64 printable characters" in html
    turn.refresh_from_db()
    assert turn.tags == []


def test_only_a_turn_that_is_here_is_tagged_and_only_by_post(browser: Client, turn: Turn):
    assert browser.post(f"/turns/{uuid4()}/tags", {"add": "odd"}).status_code == 404
    assert browser.get(f"/turns/{turn.id}/tags").status_code == 405
