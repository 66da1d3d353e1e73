"""A run: its page, its socket's part, its place in the API and in a folded timeline."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.exports.share_links.services import link_create
from dashboard.timeline.runs.consumers import watch_run
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.selectors import timeline

pytestmark = pytest.mark.django_db
NOBODY = UUID(int=7)


def turn(text="Why?", *, after=None, **more):
    ended = {"status": "completed", "stop_reason": "completed", "finished_at": timezone.now()}
    more = {"model": "m", **ended, **more}
    run = {} if after is None else {"run_id": after.run, "follows": after.id}
    return Turn.objects.create(
        project=project_default(), agent_name="a", max_tokens=9, input_text=text, input_tokens=10,
        output_tokens=5, output_text=f"Answer to {text}", **run, **more,
    )  # fmt: skip


@pytest.fixture
def run():
    """Three calls, of which the second was given up."""
    first = turn("First")
    return [first, turn("Given up", after=first, model_stop_reason="max_tokens"), turn("Went on", after=first)]


def test_the_page_shows_the_calls_as_a_path(browser, run):
    page = browser.get(f"/runs/{run[0].id}").content.decode()
    places = [page.index(f'id="call-{each.id}"') for each in run]
    assert places == sorted(places)
    assert page.count("depth-1") == 1
    for words in (
        "Answer to Given up",
        "continues from turn 1",
        "<b>3</b>\u00a0turns",
        "<b>30</b> in",
        "<b>1</b>\u00a0turn cut off",
    ):
        assert words in page, words


def test_the_page_says_what_a_dashed_frame_means_where_there_is_one(browser, run):
    words = "Turns in dashed frames are branches"
    assert words in browser.get(f"/runs/{run[0].id}").content.decode()
    assert words not in browser.get(f"/runs/{turn('Alone').id}").content.decode()


def test_a_run_of_the_simulator_is_free(browser):
    unpriced, free = (browser.get(f"/runs/{turn(model=name).id}").content.decode() for name in ("m", "sim-essay"))
    assert "price not known" in unpriced
    assert "price not known" not in free


def test_a_missing_run_is_404(browser, run):
    assert browser.get(f"/runs/{NOBODY}").status_code == 404
    assert browser.get(f"/runs/{run[1].id}").status_code == 404  # a turn within a run is none


def test_a_run_whose_first_turn_is_erased_stays(browser, run):
    run[0].delete()
    assert "Answer to Went on" in browser.get(f"/runs/{run[1].run_id}").content.decode()


def test_its_fragment_is_pushed_when_one_of_its_turns_changes(run):
    scene, shows = watch_run({}, run_id=run[0].id)
    scene.look()
    texts, shows = scene.since(shows)
    assert 'hx-swap-oob="true"' in texts[0]
    turn("Another")
    scene.look()
    assert scene.since(shows)[0] == []
    turn("More", after=run[2])
    scene.look()
    assert "Answer to More" in scene.since(shows)[0][0]


def test_turns_show_their_run(browser, run):
    page = browser.get(f"/turns/{run[0].id}").content.decode()
    assert f'href="/runs/{run[0].id}#call-{run[0].id}"' in page
    alone = turn("Alone")
    assert "/runs/" not in browser.get(f"/turns/{alone.id}").content.decode()


def test_a_shared_link_does_not_show_the_run(run):
    by = User.objects.create_user("sharer")
    for redacted in (False, True):
        _, token = link_create(turn=run[1], lifetime="1h", redacted=redacted, by=by)
        answer = Client().get(f"/share/{token}")
        page = answer.content.decode()
        assert (answer.status_code, "/runs/" in page, str(run[0].id) in page) == (200, False, False)


def test_a_grouped_timeline_has_each_run_once(browser, run):
    alone = turn("Alone")
    page = browser.get("/?fold=runs").content.decode()
    assert [each.id for each in (alone, *run) if f'id="row-{each.id}"' in page] == [alone.id, run[2].id]
    assert f'href="/runs/{run[0].id}"><b>3</b>\u00a0turns' in page
    assert "checked>Runs" in page


def folded(limit=50, **filters):
    page = timeline(project=project_default(), filters=TimelineFilters(fold="runs", **filters), limit=limit)
    return [each.input_text for each in page.items]


def test_a_run_is_found_by_any_of_its_turns(run):
    assert folded() == ["Went on"]
    assert folded(model_stop_reason=("max_tokens",)) == ["Given up"]
    assert folded(run=run[0].id) == ["Went on"]
    assert folded(model_stop_reason=("safety_blocked",)) == []


def test_pages_of_runs_have_no_gaps_or_repeats():
    begun = [turn(f"{n}") for n in range(7)]
    for each in begun[::2]:
        turn(f"{each.input_text} on", after=each)
    asked = {"project": project_default(), "filters": TimelineFilters(fold="runs"), "limit": 2}
    page, seen = timeline(**asked), []
    while True:
        seen += [each.input_text for each in page.items]
        if page.next is None:
            break
        before, page = page, timeline(**asked, cursor=page.next)
        assert [each.id for each in timeline(**asked, cursor=page.previous).items] == [each.id for each in before.items]
    assert seen == ["6 on", "4 on", "2 on", "0 on", "5", "3", "1"]


def test_one_long_run_does_not_hide_older_turns():
    turn("Old")
    first = turn("First")
    for _ in range(30):
        turn("On", after=first)
    assert folded() == ["On", "Old"]
    assert folded(limit=1) == ["On"]


def test_the_api_returns_runs(browser, run):
    shown = browser.get("/api/v1/runs").json()["items"]
    assert [(each["id"], each["turns"], each["input_tokens"]) for each in shown] == [(str(run[0].id), 3, 30)]
    whole = browser.get(f"/api/v1/runs/{run[0].id}").json()
    assert [step["follows"] for step in whole["path"]] == [None, str(run[0].id), str(run[0].id)]
    assert [each["run_id"] for each in whole["items"]] == [str(run[0].id)] * 3
    assert browser.get(f"/api/v1/runs/{NOBODY}").status_code == 404
    assert browser.get("/api/v1/runs?color=red").status_code == 400
    found = browser.get(f"/api/v1/turns?run={run[0].id}").json()["items"]
    assert [each["id"] for each in found] == [str(each.id) for each in run[::-1]]


@pytest.mark.parametrize("query", ["run=x", "fold=x"])
def test_an_invalid_run_is_refused_with_an_explanation(query, browser):
    answer = browser.get(f"/api/v1/turns?{query}")
    assert answer.status_code == 400
    assert "“x”" in str(answer.json())


def test_a_run_requires_sign_in(run):
    assert Client().get(f"/runs/{run[0].id}").status_code == 302
    assert Client().get(f"/api/v1/runs/{run[0].id}").status_code == 401


def test_times_narrow_a_grouped_list(run):
    assert folded(until=timezone.now() + timedelta(hours=1)) == ["Went on"]
    assert folded(since=timezone.now() + timedelta(hours=1)) == []
