"""The metrics board: what it shows, and that each bar leads to just its turns."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.board.metrics import METRICS, shown
from dashboard.board.periods import MOST_BARS, PERIODS, named, period_of
from dashboard.board.selectors import MOST_GROUPS
from dashboard.timeline.rollups import LEVELS
from tests.dashboard.board.test_sum_updates import brought_up_to_date
from tests.dashboard.pages import page, read
from tests.dashboard.timeline.populations import make_turn, make_turns

NOW = datetime(2026, 11, 20, 12, 34, 56, tzinfo=UTC)


def some_turns() -> None:
    """Two that were cut, one of them continued, and two that ended, of which one has a sign of a cut."""
    at = timezone.now() - timedelta(days=1)
    columns = {"status": "completed", "stop_reason": "completed", "input_tokens": 1000, "output_tokens": 50}
    make_turn(at, **columns, model_stop_reason="max_tokens")
    make_turn(at, **columns, model_stop_reason="end_turn", continuations=2, duration_ms=4_000)
    make_turn(at, **columns, model_stop_reason="end_turn", lint=["output_at_cap"])
    make_turn(at, **{**columns, "status": "failed"}, model_stop_reason="end_turn", model="gpt-4o", agent_name="b")
    brought_up_to_date()


def chart(html: str, key: str) -> str:
    start = html.index(f'id="chart-{key}"')
    return html[start : html.index("</section>", start)]


def table_links(html: str) -> list[str]:
    return [unescape(link) for link in re.findall(r'<td class="num"><a href="([^"]+)"', html)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("key", "turns"),
    [
        ("turns", [3, 1]),
        ("truncation_rate", [1, 1]),
        ("continuations_per_turn", [1]),
        ("continued_p95_seconds", [1]),
        ("tokens", [4, 4]),
        ("dollars", [4]),
        ("failure_rate", [1]),
        ("lint_findings", [1]),
    ],
)
def test_each_bar_links_to_its_turns(browser: Client, key: str, turns: list[int]):
    some_turns()
    links = table_links(chart(page(browser, "/metrics-board"), key))
    found = [browser.get("/api/v1/turns" + link.removeprefix("/")).json()["items"] for link in links]
    assert [len(items) for items in found] == turns


@pytest.mark.django_db
def test_the_metrics_page_shows_each_metric_of_the_period(browser: Client):
    some_turns()
    html = page(browser, "/metrics-board")
    assert "4</span>" in chart(html, "turns")
    assert "50\u202f%</span>" in chart(html, "truncation_rate")
    assert "25\u202f%</span>" in chart(html, "failure_rate")
    assert "Turns with a partial answer are not counted." in chart(html, "failure_rate")
    assert "1.00</span>" in chart(html, "continuations_per_turn")
    assert "4.90\u202fs</span>" in chart(html, "continued_p95_seconds")
    assert "None in this period." in chart(html, "failed_predictions")
    assert "No list price is known for m;" in html
    assert re.search(r'<th scope="row"><a [^>]*>m</a>.*<td class="num" data-label="Price">no list price</td>', html)
    found = read(html)
    assert found.inline == []
    assert len(found.ids) == len(set(found.ids))


@pytest.mark.django_db
def test_turns_without_a_stop_reason_are_a_linked_part_of_the_chart(browser: Client):
    some_turns()
    make_turn(timezone.now() - timedelta(days=1), status="running")
    brought_up_to_date()
    shown = chart(page(browser, "/metrics-board"), "turns")
    assert "no answer" in shown, (
        "a turn that runs, or whose calls failed, has no answer; its stop reason is not missing"
    )
    (link,) = set(re.findall(r'href="(/\?[^"]*not_model_stop_reason[^"]*)"', shown))
    turns = browser.get("/api/v1/turns" + unescape(link).removeprefix("/")).json()["items"]
    assert [turn["model_stop_reason"] for turn in turns] == [None]


@pytest.mark.parametrize(
    ("sums", "words"),
    [
        ({"dollars": 0.5, "unpriced": 1}, "$0.500"),
        ({"turns": 2, "unpriced": 1, "free": 1}, "no list price"),
        ({"turns": 2, "free": 2}, "free"),
        ({"turns": 2}, "–"),
    ],
)
def test_usage_without_a_list_price_is_not_shown_as_free(sums: dict[str, float], words: str):
    assert shown(METRICS["dollars"], sums) == words


@pytest.mark.django_db
def test_the_page_is_filtered_split_and_stacked_by_its_url(browser: Client):
    some_turns()
    html = page(browser, "/metrics-board?agent=b&by=agent&stack=stop_reason&period=month")
    assert "1</span>" in chart(html, "turns")
    assert "stop_reason=completed" in chart(html, "turns")
    assert "<option selected>b</option>" in html
    assert "agent=b" in html[html.index('id="groups-title"') :]


@pytest.mark.django_db
def test_a_split_into_many_parts_is_limited_and_the_rest_is_other(browser: Client):
    at, many = timezone.now() - timedelta(days=1), MOST_GROUPS + 4
    make_turns([(at, {"status": "completed", "model": f"m{n:03}", "input_tokens": 1}) for n in range(many)])
    brought_up_to_date()
    told = browser.get("/api/v1/metrics").json()
    assert [told["groups"][-1][name] for name in ("name", "turns", "input_tokens")] == ["other", 4, 4]
    assert sum(group["turns"] for group in told["groups"]) == told["total"]["turns"] == many
    assert (len(told["unpriced_models"]), told["unpriced_models"][-1]) == (MOST_GROUPS + 1, "other")
    assert '<th scope="row">other</th>' in page(browser, "/metrics-board")


@pytest.mark.django_db
def test_minutes_not_yet_summed_are_reported(browser: Client):
    from dashboard.timeline import rollups

    make_turn(timezone.now() - timedelta(hours=3), status="completed")
    rollups.fold_all()
    assert "are still being counted" in page(browser, "/metrics-board")


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["period=eternity", "since=soon", "since=2026-11-02&until=2026-11-01"])
def test_an_invalid_time_is_refused_with_an_explanation(browser: Client, query: str):
    answer = browser.get(f"/metrics-board?{query}")
    assert answer.status_code == 400
    assert b'role="alert"' in answer.content


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/metrics-board", "/api/v1/metrics"])
@pytest.mark.parametrize("day", ["0001-01-01", "1970-01-01", "9001-01-01", "9999-12-31T23:59:59"])
def test_a_time_at_either_end_of_the_calendar_is_shown_or_refused(browser: Client, address: str, day: str):
    for query in ({"until": day}, {"since": day}, {"since": "9999-12-30", "until": day}):
        assert browser.get(address, query).status_code in (200, 400), query


@pytest.mark.parametrize("name", PERIODS)
def test_a_period_is_aligned_to_the_bars_of_the_rollups(name: str):
    period = named(name, now=NOW)
    assert period.since < NOW <= period.until
    assert (period.until - period.since) / timedelta(seconds=period.seconds) <= MOST_BARS
    assert any(period.seconds % level == 0 for level in LEVELS)
    assert period.since.timestamp() % period.seconds == 0


@pytest.mark.parametrize("days", [1, 2, 8, 31, 91, 366, 399])
def test_any_period_up_to_the_maximum_is_drawn_in_few_bars(days: int):
    since = NOW - timedelta(days=days)
    period = period_of({"since": since.isoformat(), "until": NOW.isoformat()}, now=NOW)
    assert period.since <= since < NOW <= period.until
    assert (period.until - period.since) / timedelta(seconds=period.seconds) <= MOST_BARS + 1


def test_a_longer_period_is_refused():
    with pytest.raises(ValidationError, match="400 days"):
        period_of({"since": "2020-01-01"}, now=NOW)


@pytest.mark.django_db
def test_an_answer_without_a_known_stop_reason_has_one_label_in_legend_filter_and_board(browser: Client):
    """Such as one that the turn's own time limit ended, of which the provider gave none."""
    make_turn(timezone.now() - timedelta(days=1), status="partial", attempts=1, model_stop_reason="unknown")
    brought_up_to_date()
    shown = [chart(page(browser, "/metrics-board"), "turns")]
    shown += [page(browser, reverse(name)) for name in ("timeline:chart", "timeline:facets")]
    assert ["unknown or not given" in each for each in shown] == [True] * 3
