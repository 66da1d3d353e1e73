"""Pages of turns that are sorted among themselves, leafed through both ways."""

import pytest

from dashboard.agents.selectors import project_default
from dashboard.turns import selectors
from dashboard.turns.filters import SORTS, TimelineFilters
from dashboard.turns.selectors import BadCursorError, Page
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db
COLUMNS = {"ended": "stop_reason", "tokens": "tokens", "took": "duration_ms"}


@pytest.fixture(autouse=True)
def made() -> None:
    """Some alike, and some of which nothing is known yet."""
    for n, took in enumerate((5, None, 9, 5, 0, None, 7)):
        make_turn(output_tokens=n % 3, duration_ms=took, stop_reason=(None, "completed", "retry_limit")[n % 3])


def page(sort: str, cursor: str | None = None, limit: int = 2) -> Page:
    filters = TimelineFilters(sort=sort)
    return selectors.timeline(project=project_default(), filters=filters, cursor=cursor, limit=limit)


@pytest.mark.parametrize("sort", SORTS)
def test_leafing_through_shows_each_turn_once_in_its_order_both_ways(sort: str):
    wanted = [turn.id for turn in page(sort, limit=100).items]
    values = [getattr(turn, COLUMNS[sort.removeprefix("-")]) for turn in page(sort, limit=100).items]
    known = [value for value in values if value is not None]
    assert values == [*sorted(known, reverse=sort.startswith("-")), *[None] * (len(values) - len(known))]
    pages = [page(sort)]
    while pages[-1].next:
        pages.append(page(sort, pages[-1].next))
    assert [turn.id for one in pages for turn in one.items] == wanted
    back = page(sort, pages[-1].previous)
    assert back.items == pages[-2].items
    assert page(sort, back.previous).items == pages[-3].items
    assert not page(sort, page(sort, back.previous).previous).previous


def test_turns_that_come_later_do_not_shift_the_pages():
    first = page("-took")
    wanted = page("-took", first.next).items
    make_turn(duration_ms=6)
    assert page("-took", first.next).items == wanted


def test_only_the_newest_turns_are_sorted_and_the_page_is_told(monkeypatch):
    assert page("-took").sorted_among == 0
    monkeypatch.setattr(selectors, "WINDOW", 4)
    assert (page("-took").sorted_among, page("-took").items[0].duration_ms) == (4, 7)


def test_a_cursor_of_another_list_is_refused():
    for cursor in ("x", "WzFd", "W251bGwsbnVsbCwwXQ==", page("ended").next, page("took").next, page("").next):
        with pytest.raises(BadCursorError):
            page("-took", cursor)
