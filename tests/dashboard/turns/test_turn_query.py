"""Whatever the filters, the pages are those of the plain query."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.agents import selectors as agents
from dashboard.turns import id_range, selectors, turn_query
from dashboard.turns.filters import OLDEST_FIRST, TimelineFilters
from dashboard.turns.models import Turn
from tests.dashboard.timeline.populations import FILTERS, POPULATIONS, make_turns, undone
from tests.examples import examples

pytestmark = pytest.mark.django_db

MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch):
    """With few turns, each way of finding them has its turn only if the one before gives up early."""
    monkeypatch.setattr(turn_query, "WALKED", 2)
    monkeypatch.setattr(turn_query, "WINDOW", 2)


def every_page(filters: TimelineFilters, limit: int) -> tuple[list[Turn], list[Turn]]:
    """All turns by leafing to the last page, and by leafing back to the first."""
    project, there, back = agents.project_default(), [], []
    page = selectors.timeline(project=project, filters=filters, limit=limit)
    there += page.items
    while page.next:
        page = selectors.timeline(project=project, filters=filters, cursor=page.next, limit=limit)
        there += page.items
    back += page.items
    while page.previous:
        page = selectors.timeline(project=project, filters=filters, cursor=page.previous, limit=limit)
        back = page.items + back
    return there, back


@MANY
@given(population=POPULATIONS, filters=FILTERS, limit=st.integers(1, 6), sort=st.sampled_from(["", OLDEST_FIRST]))
def test_paging_equals_the_plain_query_in_both_directions(population: Any, filters: Any, limit: int, sort: str):
    with undone():
        make_turns(population)
        plain = list(selectors.turns_matching(project=agents.project_default(), filters=filters))
        there, back = every_page(replace(filters, sort=sort), limit)
    assert there == (plain if sort else plain[::-1])
    assert back == there


@MANY
@given(population=POPULATIONS, newest_first=st.booleans(), growth=st.sampled_from([2.0, 3.3, 16.0]))
def test_windows_cover_the_whole_range_without_gaps(population: Any, newest_first: bool, growth: float):
    with undone():
        ids = sorted((turn.id for turn in make_turns(population)), reverse=newest_first)
    if not ids:
        return
    marker = ids[2] if len(ids) > 2 else None
    windows = list(
        id_range.windows(id_range.IdRange(newest_first=newest_first), ids[0], marker, ids[-1], lambda: growth)
    )
    assert all(window.low < window.high for window in windows)
    seen = [turn_id for window in windows for turn_id in ids if window.low <= turn_id < window.high]
    assert seen == ids


def test_a_window_grows_with_the_expected_number_of_results():
    assert id_range.growth_after(found=0, wanted=50) == id_range.MOST_GROWTH
    assert id_range.growth_after(found=10, wanted=40) == 6.0
    assert id_range.growth_after(found=49, wanted=1) == id_range.LEAST_GROWTH
    assert id_range.growth_after(found=1, wanted=10_000) == id_range.MOST_GROWTH
