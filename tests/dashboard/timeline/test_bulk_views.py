import re
from uuid import uuid4

import pytest
from django.test import Client

from dashboard.accounts.models import User
from dashboard.live.services import turn_start
from dashboard.timeline.models import BulkAction
from dashboard.turns.models import Record, Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import compact, page
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

HTMX = {"HX-Request": "true"}


@pytest.fixture
def turns(agent_of: AgentOf) -> list[Turn]:
    agent = agent_of("sim-essay")
    return [drive(turn_start(agent=agent, input_text=f"Question {n}.")) for n in range(3)]


def test_a_confirmation_states_the_action_and_the_number_of_turns(browser: Client, turns: list[Turn]):
    response = browser.post("/timeline/tag", {"turn": [str(turn.id) for turn in turns[:2]]})
    html = response.content.decode()
    assert "Tag 2 turns" in html
    assert "Question 1." in html
    assert "Question 2." not in html
    assert BulkAction.objects.count() == 0


def test_tags_are_added_and_removed(browser: Client, turns: list[Turn]):
    ids = [str(turn.id) for turn in turns]
    Turn.objects.filter(pk=turns[0].pk).update(tags=["old"])
    response = browser.post(
        "/timeline/tag", {"turn": ids, "add": "odd, later ,", "remove": ["old"], "confirmed": "1"}, headers=HTMX
    )
    assert "3 turns changed." in response.content.decode()
    assert response["HX-Trigger-After-Settle"] == "bulk-done"
    assert {tuple(turn.tags) for turn in Turn.objects.all()} == {("odd", "later")}
    assert BulkAction.objects.get().by == "operator"


def test_without_htmx_the_same_timeline_is_shown_afterwards(browser: Client, turns: list[Turn]):
    given = {"turn": [str(turns[0].id)], "add": "odd", "confirmed": "1", "query": "agent=sim-essay"}
    response = browser.post("/timeline/tag", given, follow=True)
    assert response.redirect_chain == [("/?agent=sim-essay", 302)]
    assert "1 turn changed." in response.content.decode()


def test_all_matching_turns_are_those_that_matched_when_asked(browser: Client, turns: list[Turn]):
    given = {"every": "1", "query": "agent=sim-essay"}
    html = browser.post("/timeline/tag", given).content.decode()
    assert "Tag 3 turns" in html
    assert f'name="newest" value="{turns[2].id}"' in html
    later = turn_start(agent=turns[0].agent, input_text="Too late.")
    browser.post("/timeline/tag", {**given, "newest": str(turns[2].id), "add": "odd", "confirmed": "1"})
    assert Turn.objects.filter(tags=["odd"]).count() == 3
    assert Turn.objects.get(pk=later.pk).tags == []


@together
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"add": "", "confirmed": "1"}, "Enter a tag to add"),
        ({"add": "x" * 65, "confirmed": "1"}, "1 to 64 printable characters"),
        ({"turn": ["nonsense"]}, "not the id of a turn"),
        ({"every": "1", "query": "status=sleeping"}, "not “sleeping”."),
    ],
)
def test_an_impossible_action_is_explained(browser: Client, turns: list[Turn], given: dict[str, str], words: str):
    response = browser.post("/timeline/tag", {"turn": [str(turns[0].id)], **given}, headers=HTMX)
    assert words in response.content.decode()
    assert BulkAction.objects.count() == 0


def test_erasing_names_the_count_and_removes_everything(browser: Client, turns: list[Turn]):
    ids = [str(turn.id) for turn in turns[:2]]
    waiting = turn_start(agent=turns[0].agent, input_text="Not yet.")
    offered = browser.post("/timeline/erase", {"turn": [*ids, str(waiting.id)]}, headers=HTMX)
    asked = compact(offered.content.decode())
    assert asked.count("Erase 2 turns") == 2
    assert "1 of the 3 selected turns has not ended and will be kept." in asked
    assert Turn.objects.count() == 4
    done = browser.post("/timeline/erase", {"turn": [*ids, str(waiting.id)], "confirmed": "1"}, headers=HTMX)
    assert "2 turns erased; 1 had not ended" in done.content.decode()
    assert set(Turn.objects.values_list("id", flat=True)) == {turns[2].id, waiting.id}
    assert set(Record.objects.values_list("turn_id", flat=True)) == {turns[2].id}


def test_a_user_who_may_not_erase_is_not_offered_it_and_is_refused(turns: list[Turn]):
    client = Client()
    client.force_login(User.objects.create_user("reader"))
    assert "/timeline/erase" not in client.get("/").content.decode()
    response = client.post("/timeline/erase", {"turn": [str(turns[0].id)], "confirmed": "1"})
    assert response.status_code == 403
    assert Turn.objects.count() == 3


def test_an_empty_selection_says_so(browser: Client, db: None):
    html = browser.post("/timeline/tag", {}).content.decode()
    assert "No turn is selected" in html
    gone = browser.post("/timeline/erase", {"turn": [str(uuid4())], "confirmed": "1"}, headers=HTMX)
    assert "0 turns erased" in gone.content.decode()


@pytest.mark.parametrize("address", ["/timeline/tag", "/timeline/erase"])
def test_following_a_link_changes_nothing(browser: Client, db: None, address: str):
    assert browser.get(address).status_code == 405


@pytest.fixture
def turn(play: Play) -> Turn:
    return play("sim-odd")


def test_tags_are_added_and_link_to_turns_with_the_same_tag(browser: Client, turn: Turn):
    response = browser.post(f"/turns/{turn.id}/tags", {"add": "odd & new, later,"})
    assert response["Location"] == f"/turns/{turn.id}#tags"
    turn.refresh_from_db()
    assert turn.tags == ["odd & new", "later"]
    html = page(browser, f"/turns/{turn.id}")
    (link, _) = re.findall(r'<a href="(/\?tag=[^"]*)"', html)
    assert str(turn.id) in page(browser, link)
    assert BulkAction.objects.get().added == ["odd & new", "later"]


def test_a_tag_is_removed(browser: Client, turn: Turn):
    Turn.objects.filter(pk=turn.pk).update(tags=["odd", "later"])
    assert 'aria-label="Remove odd"' in page(browser, f"/turns/{turn.id}")
    browser.post(f"/turns/{turn.id}/tags", {"remove": "odd"})
    turn.refresh_from_db()
    assert turn.tags == ["later"]


def test_an_invalid_tag_is_refused_with_an_explanation(browser: Client, turn: Turn):
    html = browser.post(f"/turns/{turn.id}/tags", {"add": "x" * 65}, follow=True).content.decode()
    assert "A tag must have 1 to 64 printable characters." in html
    turn.refresh_from_db()
    assert turn.tags == []


def test_only_an_existing_turn_is_tagged_and_only_by_post(browser: Client, turn: Turn):
    assert browser.post(f"/turns/{uuid4()}/tags", {"add": "odd"}).status_code == 404
    assert browser.get(f"/turns/{turn.id}/tags").status_code == 405
