"""Turns chosen on the timeline leave together, each as a file of its own."""

from io import BytesIO
from uuid import UUID
from zipfile import ZipFile

import pytest
from django.test import Client

from dashboard.ingest.turn_files.services import turn_import
from dashboard.ingest.turn_files.zip_export import turns_bundle
from dashboard.live.services import turn_start
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play
from tests.dashboard.ingest.turn_files.test_services import erase

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def turns(play: Play) -> list[Turn]:
    return [play("sim-essay", max_tokens=60), play("sim-odd")]


def sent(browser: Client, **form: object) -> ZipFile:
    response = browser.post("/export", form)
    assert response["Content-Disposition"] == 'attachment; filename="turns.zip"'
    return ZipFile(BytesIO(response.getvalue()))  # type: ignore[attr-defined]


def test_each_file_of_the_bundle_can_be_imported(browser: Client, turns: list[Turn]):
    packed = sent(browser, turn=[str(turn.id) for turn in turns])
    assert sorted(packed.namelist()) == sorted(f"turn-{turn.id}.json" for turn in turns)
    for turn in turns:
        erase(turn)
    made = [turn_import(content=packed.read(name)) for name in packed.namelist()]
    assert {one.turn.id for one in made} == {turn.id for turn in turns}
    assert all(one.fresh and one.verified for one in made)


def test_all_turns_of_the_filters_are_bundled_by_query(browser: Client, turns: list[Turn]):
    packed = sent(browser, every="1", query="model=sim-odd")
    assert packed.namelist() == [f"turn-{turns[1].id}.json"]


def test_turns_that_cannot_be_exported_are_listed_in_the_bundle(browser: Client, turns: list[Turn], agent_of: AgentOf):
    waiting = turn_start(agent=agent_of("sim-tools"), input_text="Wait.")
    packed = sent(browser, turn=[str(waiting.id), str(turns[0].id)])
    assert f"{waiting.id}: This turn is queued" in packed.read("left-out.txt").decode()
    assert f"turn-{turns[0].id}.json" in packed.namelist()


def test_the_size_of_a_bundle_is_limited(turns: list[Turn]):
    with turns_bundle([turn.id for turn in turns], most_bytes=1) as made, ZipFile(made) as packed:
        assert packed.namelist() == [f"turn-{turns[0].id}.json", "left-out.txt"]
        assert "Export it separately" in packed.read("left-out.txt").decode()


def test_too_many_turns_for_a_bundle_are_refused_with_an_explanation(browser: Client):
    ids = [str(UUID(int=n)) for n in range(201)]
    html = browser.post("/export", {"turn": ids}, follow=True).content.decode()
    assert "Choose 1 to 200 turns to export, not 201." in html


@pytest.mark.parametrize("form", [{}, {"turn": "no-id"}, {"every": "1", "query": "status=nonsense"}])
def test_an_empty_selection_returns_to_the_timeline_with_a_message(
    browser: Client, turns: list[Turn], form: dict[str, str]
):
    response = browser.post("/export", form)
    assert response.status_code == 302
    assert 'class="note error"' in browser.get("/").content.decode()
    assert browser.get("/export").status_code == 405
