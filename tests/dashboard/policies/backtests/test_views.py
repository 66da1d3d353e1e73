import re
from html import unescape

import pytest
from django.test import Client

from dashboard.agents.selectors import project_default
from dashboard.policies.backtests import runner, views
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import version_activate
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.pages import page, text_of
from tests.dashboard.policies.backtests.two_policies import play_layered

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_policy_is_tried_over_the_turns_shown_by_the_timeline(browser: Client, play: Play):
    turn = play("sim-essay", max_tokens=60)
    policy_create(project=project_default(), name="generous", limits={"max_continuations": 1})
    asked = page(browser, "/backtests/new?status=partial")
    assert ">generous</option>" in asked
    started = browser.post("/backtests/new", {"policy": "generous", "query": "status=partial"})
    stored = Backtest.objects.get()
    assert started["Location"] == f"/backtests/{stored.pk}"
    assert 'hx-trigger="every 1s"' in page(browser, started["Location"])
    runner.run(stored.pk)
    shown = page(browser, started["Location"])
    assert "hx-trigger" not in shown.split('id="backtest"')[1].split(">")[0]
    assert "<progress" not in shown, "nothing is under way any more"
    assert "1 of 1 turns" in shown.replace("</b>", "")
    assert str(turn.id) in page(browser, started["Location"], **{"HX-Request": "true"}) or stored.flipped == 0


def test_the_active_version_of_a_policy_is_tried(browser: Client):
    project = project_default()
    first = policy_create(project=project, name="wide", limits={"max_continuations": 1})
    policy_create(project=project, name="wide", limits={"max_continuations": 5})
    version_activate(version=first, why="too dear")
    assert "the active version, or a draft" in page(browser, "/backtests/new")
    browser.post("/backtests/new", {"policy": "wide", "query": ""})
    policy_create(project=project, name="new", limits={"max_continuations": 2}, activate=False)
    html = page(browser, "/backtests/new")
    assert ">wide</option>" in html
    assert ">new (newest draft, inactive)</option>" in html
    browser.post("/backtests/new", {"policy": "new", "query": ""})
    assert [backtest.policy["limits"] for backtest in Backtest.objects.order_by("id")] == [
        {"max_continuations": 1},
        {"max_continuations": 2},
    ]


def test_a_draft_of_a_policy_that_has_an_active_version_can_be_chosen(browser: Client):
    project = project_default()
    policy_create(project=project, name="wide", limits={"max_continuations": 1})
    draft = policy_create(project=project, name="wide", limits={"max_continuations": 5}, activate=False)
    assert ">wide v2 (inactive)</option>" in page(browser, "/backtests/new")
    started = browser.post("/backtests/new", {"policy": f"wide@{draft.version}", "query": ""})
    stored = Backtest.objects.get()
    assert started["Location"] == f"/backtests/{stored.pk}"
    assert (stored.policy["limits"], stored.stands_for) == ({"max_continuations": 5}, draft.policy)
    assert browser.post("/backtests/new", {"policy": "wide@3", "query": ""}).status_code == 400


def test_a_backtest_names_and_links_the_version_it_tried_and_says_that_it_is_a_draft(browser: Client):
    project = project_default()
    first = policy_create(project=project, name="wide", limits={"max_continuations": 1})
    draft = policy_create(project=project, name="wide", limits={"max_continuations": 5}, activate=False)
    link = f'<a href="/policies/versions/{draft.pk}">wide v2</a>'
    found = []
    for given in ({"policy": "wide@2"}, {"policy": "wide@2", "max_continuations": 7}, {"policy": "wide"}, {}):
        place = browser.post("/backtests/new", {"query": "", **given})["Location"]
        found.append((text_of(page(browser, place)), link in page(browser, place)))
    texts = [text for text, _ in found]
    assert [linked for _, linked in found] == [True, True, False, False]
    assert "policy wide v2 (draft, inactive) Max continuations" in texts[0]
    assert "policy wide v2 (draft, inactive) with other limits" in texts[1]
    assert "policy wide v1 (active)" in texts[2]
    assert "wide v" not in texts[3]
    assert page(browser, "/backtests/").count(link) == 2
    version_activate(version=draft, why="better")
    assert "wide v2 (active)" in text_of(page(browser, "/backtests/"))
    assert "wide v1 (no longer active)" in text_of(page(browser, "/backtests/"))
    listed = browser.get("/api/v1/backtests").json()["items"]
    tried = {"policy": "wide", "version": 2, "stands": "active", "changed": False}
    past = {"policy": "wide", "version": first.version, "stands": "past", "changed": False}
    assert [each["tried"] for each in listed] == [None, past, tried | {"changed": True}, tried]
    assert browser.get(f"/api/v1/backtests/{listed[3]['id']}").json()["tried"] == tried


def test_a_backtest_of_settings_that_were_saved_after_it_names_their_version(browser: Client):
    made = backtest_create(project=project_default(), policy={"limits": {"max_continuations": 4}}, filter={})
    address = f"/backtests/{made.pk}"
    assert "saved as" not in page(browser, address)
    saved = {"name": "later", "limits": {"max_continuations": 4}, "activate": False}
    policy_create(project=project_default(), backtest=made, may_wait=True, **saved)
    assert "saved as later v1 (draft, inactive) Max continuations" in text_of(page(browser, address))


def test_the_filtered_timeline_leads_to_a_backtest_and_to_the_limits_of_its_turns(browser: Client):
    ways = ('href="/backtests/new?model=m"', 'href="/backtests/limits?model=m"')
    assert not any(way in page(browser, "/") for way in ways)
    assert all(way in page(browser, "/?model=m") for way in ways)
    assert 'href="/?model=m">timeline</a>' in page(browser, "/backtests/new?model=m")
    assert 'href="/?model=m">timeline</a>' in page(browser, "/backtests/limits?model=m")


def test_the_page_and_the_form_of_a_policy_give_the_same_result(browser: Client, admin_client: Client, play: Play):
    own = play_layered(play)
    browser.post("/backtests/new", {"policy": "own", "query": ""})
    words = {"recovery": ["markdown-fence", "brace-walker"], "max_steps": "9", "over-agent": "", "over-since": ""}
    admin_client.post(f"/backtests/draft?policy={own.pk}", words)
    asked, panel = Backtest.objects.order_by("id")
    for backtest in (asked, panel):
        runner.run(backtest.pk)
        backtest.refresh_from_db()
    assert (asked.same, asked.flipped, asked.undecidable) == (panel.same, panel.flipped, panel.undecidable) == (1, 0, 0)
    assert "in place of policy “own”" in page(browser, f"/backtests/{asked.pk}")


def test_the_tried_values_and_their_target_are_described(browser: Client, play: Play):
    Turn.objects.filter(id=play("sim-essay", overrides={"max_tokens": 150}).id).update(input_text=" ")
    words = {"limits": {"max_continuations": 0}, "finish_reasons": ["safety_blocked", "max_tokens"]}
    draft = {**words, "error_policy": {"preset": "retry_all"}}
    stored = backtest_create(project=project_default(), policy=draft, filter={})
    runner.run(stored.pk)
    shown = page(browser, f"/backtests/{stored.pk}")
    assert "finish_reasons <b>max_tokens, safety_blocked</b>" in shown
    assert "error_policy <b>preset retry_all</b>" in shown
    assert "A turn without text</a>" in shown


def test_without_a_policy_the_default_limits_are_tried(browser: Client):
    assert "the default limits" in page(browser, "/backtests/new")


def test_a_deleted_policy_is_refused_with_an_explanation(browser: Client):
    html = browser.post("/backtests/new", {"policy": "nobody"}).content.decode()
    assert "Choose one of the policies" in html


def test_an_incomplete_list_says_so(browser: Client, monkeypatch):
    monkeypatch.setattr(views, "LISTED", 2)
    said = []
    for _ in range(3):
        Backtest.objects.create(project=project_default())
        html = page(browser, "/backtests")
        said.append((html.count("<section"), "Older ones are still available" in html))
    assert said == [(1, False), (2, False), (2, True)]


def test_a_missing_backtest_is_404(browser: Client):
    assert browser.get("/backtests/01890000-0000-7000-8000-000000000000").status_code == 404


@pytest.mark.parametrize("priced", [False, True])
def test_totals_are_marked_as_differences_and_say_whether_a_price_is_known(browser: Client, play: Play, priced: bool):
    turn = play("sim-essay", max_tokens=60)
    if priced:
        Turn.objects.filter(pk=turn.pk).update(provider="openai", model="gpt-4o")
    browser.post("/backtests/new", {"policy": "", "query": ""})
    stored = Backtest.objects.get()
    runner.run(stored.pk)
    stored.refresh_from_db()
    assert (stored.same, stored.tokens_delta, stored.unpriced) == (1, 0, int(not priced))
    shown = page(browser, f"/backtests/{stored.pk}")
    assert "Compared with the recordings, for the <b>1</b>\u00a0turn with a known end:" in shown
    assert "Compared with the recordings:" in page(browser, "/backtests/")
    assert all(f">±&nbsp;{head}</th>" in shown for head in ("Calls", "Output tokens", "Price", "Time"))
    assert ("≈ $0.00" in shown) is priced
    assert ("simulator, free" in shown) is not priced, "a simulated model has no price to know"


def test_turns_of_the_simulator_beside_priced_ones_are_free_and_not_of_an_unknown_price(browser: Client, play: Play):
    play("sim-essay", name="free", max_tokens=60)
    Turn.objects.filter(pk=play("sim-essay", name="paid", max_tokens=60).pk).update(provider="openai", model="gpt-4o")
    browser.post("/backtests/new", {"policy": "", "query": ""})
    stored = Backtest.objects.get()
    runner.run(stored.pk)
    words = text_of(page(browser, f"/backtests/{stored.pk}")).replace("\u00a0", " ")
    assert "(1 turn of the simulator, free)" in words
    assert "without a known price" not in words


def test_the_table_of_models_counts_each_turn_once_under_its_requested_model(browser: Client, play: Play):
    cut = play("sim-essay", overrides={"max_tokens": 150})
    Turn.objects.filter(pk=play("sim-essay", name="long", max_tokens=2_000).pk).update(
        provider="openai", model="gpt-4o"
    )
    stored = backtest_create(project=project_default(), policy={"limits": {"max_continuations": 0}}, filter={})
    runner.run(stored.pk)
    rows = read_table(page(browser, f"/backtests/{stored.pk}"), "groups")
    told = {
        row["Model"]: [row[head] for head in ("Turns", "End as recorded", "Would have stopped sooner")] for row in rows
    }
    assert told == {f"{cut.model} simulator": ["1", "0", "1"], "gpt-4o openai": ["1", "1", "0"]}
    assert {row["Model"]: row["± Price"] for row in rows} == {
        f"{cut.model} simulator": "free",
        "gpt-4o openai": "≈ $0.00",
    }


def read_table(html: str, place: str) -> list[dict[str, str]]:
    """The rows of a table in the section of this id, by the heads of their columns."""
    part = html.split(f'id="{place}"')[1].split("</table>", maxsplit=1)[0]

    def words(tag: str, of: str) -> list[str]:
        cells = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", of, re.DOTALL)
        return [" ".join(text_of(unescape(cell).replace("<br>", " ")).split(" ")).strip() for cell in cells]

    head, *rows = part.split("<tr>")[1:]
    heads = words("th", head)
    return [dict(zip(heads, words("t[hd]", row), strict=False)) for row in rows]
