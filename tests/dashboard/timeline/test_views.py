import re
from html import unescape

import pytest
from django.test import Client

from dashboard.timeline.facets import LABELS
from dashboard.turns.models import Turn
from dashboard.turns.tags import MOST_TAGS
from tests.dashboard.driving import Play
from tests.dashboard.pages import compact, page, text_of
from tests.dashboard.timeline.populations import make_turn
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def test_facets_show_the_number_of_turns_per_value(browser: Client, cut: Turn):
    html = page(browser, "/timeline/facets")
    assert re.search(r'name="status" value="partial">.*?<span class="count">1</span>', html, re.DOTALL)
    assert re.search(r'name="has" value="continuation">.*?<span class="count">1</span>', html, re.DOTALL)


def test_a_selected_value_is_checked_even_without_turns(browser: Client, cut: Turn):
    html = page(browser, "/timeline/facets?status=failed")
    assert re.search(r'name="status" value="failed" checked>.*?<span class="count">0</span>', html, re.DOTALL)


def test_several_values_of_a_facet_can_be_selected(browser: Client, cut: Turn):
    html = page(browser, "/timeline/facets?status=failed&status=partial")
    assert html.count(" checked>") == 2


def test_the_chart_draws_each_reason_in_its_style_and_names_it(browser: Client, cut: Turn):
    html = page(browser, "/timeline/chart")
    assert 'id="fill-max_tokens"' in html
    assert 'data-words="1 turn: 1 cut off"' in html
    assert re.search(r'<th scope="row">[^<]+</th><td class="num">1</td>', html)


def test_the_chart_is_coloured_by_the_agents_reason_on_request(browser: Client, cut: Turn):
    assert 'data-words="1 turn: 1 continuation or retry limit"' in page(browser, "/timeline/chart?stack=stop_reason")
    assert "1 cut off" in page(browser, "/timeline/chart?stack=project_id")


def test_all_matching_turns_are_those_counted_by_the_chart_and_no_later_ones(browser: Client, cut: Turn):
    newest = re.search(r'data-newest="([^"]+)"', page(browser, "/timeline/chart"))
    assert newest
    make_turn(status="partial")
    asked = {"every": "1", "query": "status=partial", "newest": newest[1]}
    assert "Erase 1 turn permanently?" in browser.post("/timeline/erase", asked).content.decode()


HEADS = re.compile(
    r'<th scope="col"(?: aria-sort="(\w+)")? class="c-(\w+)[^>]*>(?:<a href="([^"]+)" data-filters="sort">)?'
)


def heads(html: str) -> dict[str, tuple[str, str]]:
    """By column: in which direction the list is sorted by it, and where its head leads."""
    return {name: (direction, unescape(address)) for direction, name, address in HEADS.findall(html)}


def test_every_column_sorts_both_ways(browser: Client, cut: Turn):
    html = page(browser, "/")
    columns = heads(html)
    optional = re.search(r"data-columns>(.*?)</fieldset>", html, re.DOTALL)
    assert optional
    assert {"pick", "prompt", *re.findall(r'value="(\w+)"', optional[1])} == columns.keys()
    assert columns.pop("pick")[1] == ""
    for name, (_, address) in columns.items():
        first, again = heads(page(browser, address))[name]
        second, back = heads(page(browser, again))[name]
        assert {first, second} == {"ascending", "descending"}, name
        assert heads(page(browser, back))[name][0] == first, name


def test_a_selected_time_range_is_shown_and_can_be_removed(browser: Client, cut: Turn):
    html = page(browser, "/timeline/chart?since=2026-01-01&until=2026-01-02")
    assert "1 Jan 2026, 00:00 – 2 Jan 2026, 00:00 UTC" in html
    assert "All time" in html


@together
@pytest.mark.parametrize(
    "query", ["since=2026-01-15", "until=9999-12-31T23:59", "since=9999-12-31", "since=0001-01-01"]
)
@pytest.mark.parametrize("fragment", ["facets", "chart"])
def test_any_time_is_accepted(browser: Client, cut: Turn, query: str, fragment: str):
    page(browser, f"/timeline/{fragment}?{query}")


def test_without_turns_the_fragments_still_exist(browser: Client):
    assert "<b>0</b> turns" in page(browser, "/timeline/chart")
    assert page(browser, "/timeline/facets").strip() == ""


def test_the_filter_to_remove_is_suggested(browser: Client, cut: Turn):
    html = page(browser, "/timeline/drops?status=failed&agent=sim-essay")
    assert "without <b>Status: failed</b>" in html
    assert 'href="/?agent=sim-essay"' in html
    assert "finds nothing either" in page(browser, "/timeline/drops?status=failed&agent=nobody")


def test_the_page_requests_its_counts_with_its_own_filters(browser: Client, cut: Turn):
    html = page(browser, "/?status=partial")
    assert 'hx-get="/timeline/facets?status=partial"' in html
    assert 'hx-get="/timeline/chart?status=partial"' in html


def test_without_scripts_every_facet_is_in_the_form(browser: Client, cut: Turn):
    html = page(browser, "/?status=partial")
    for name in LABELS:
        assert f'name="{name}"' in html
    assert '<input type="checkbox" name="status" value="partial" checked>' in html


def test_ranges_and_times_are_prefilled(browser: Client, cut: Turn):
    html = page(browser, "/?tokens_from=1&duration_to=900000&since=2026-01-01T10:30")
    for value in ('value="1"', 'value="900000"', 'value="2026-01-01T10:30:00"'):
        assert value in html
    assert str(cut.id) in html


def test_tags_are_shown_in_the_row(browser: Client, cut: Turn):
    Turn.objects.filter(pk=cut.pk).update(tags=["<b>odd</b>"] * MOST_TAGS)
    assert '<span class="tag">&lt;b&gt;odd&lt;/b&gt;</span>' in page(browser, "/")


def test_unreported_input_tokens_are_not_shown_as_zero(browser: Client):
    make_turn(output_tokens=158, input_tokens=0, tokens_estimated=True)
    assert "≈ <b>158</b>" in (html := page(browser, "/"))
    assert ">/ ?</span>" in html


def test_input_tokens_of_a_turn_with_an_unreported_call_are_a_lower_bound(browser: Client):
    turn = make_turn(output_tokens=415, input_tokens=6, attempts=2, tokens_estimated=True)
    title = 'title="The input tokens of at least one call may not have been reported."'
    assert f"{title}>/ ≥ 6</span>" in re.sub(r"\s+(?=≥)", " ", page(browser, "/"))
    assert f"{title}>≥ 6</b> in tokens" in page(browser, f"/turns/{turn.id}")


def test_a_fork_is_called_a_fork_and_its_record_is_named(browser: Client, cut: Turn):
    fork = make_turn(parent=cut, forked_at=3)
    rerun = make_turn(parent=cut)
    rows = page(browser, "/")
    assert ("· fork<" in rows, "· re-run<" in rows) == (True, True)
    assert "fork of an earlier turn from record 3" in text_of(compact(page(browser, f"/turns/{fork.id}"))).replace(
        "\n", " "
    )
    assert "re-run of an earlier turn" in text_of(compact(page(browser, f"/turns/{rerun.id}")))


def test_input_tokens_of_a_running_turn_are_unknown_until_reported(browser: Client):
    turn = make_turn(status="running", output_tokens=0, input_tokens=0, tokens_estimated=False)
    assert ">/ ?</span>" in page(browser, "/")
    assert 'title="The input tokens were not reported yet.">?</b> in tokens' in page(browser, f"/turns/{turn.id}")


def test_an_empty_timeline_explains_how_to_create_a_turn(browser: Client):
    html = page(browser, "/")
    assert "manage.py ask" in html
    assert "POST /api/v1/turns" in html


def test_signs_of_truncation_and_stop_reasons_have_the_labels_of_their_badges(browser: Client):
    make_turn(
        agent_name="my_agent",
        lint=["output_at_cap"],
        status="partial",
        stop_reason="retry_limit",
        terminal_reason="retry_limit",
    )
    html = page(browser, "/timeline/facets")
    signs, ended = (html.split(f'id="facet-{name}"')[1].split("</fieldset>")[0] for name in ("lint", "terminal_reason"))
    assert "</svg>ended at the cap</span>" in signs
    assert "</svg>continuation or retry limit</span>" in ended
    assert '<span class="clip" title="my_agent">my_agent</span>' in html
    assert '<code class="soft">retry_<wbr>limit</code>' in ended, "the code is beside a name that differs from it"


def test_the_empty_page_and_the_account_page_link_to_the_api_reference(browser: Client):
    assert all('href="/api/v1/docs"' in page(browser, address) for address in ("/", "/account/"))
