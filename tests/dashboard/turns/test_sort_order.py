"""Pages of turns that are sorted among themselves, leafed through both ways."""

import pytest
from django.db import connection
from django.utils import timezone

from agentcore.replay import Certainty
from dashboard.agents.selectors import project_default
from dashboard.policies.suggestions import list_suggestions, suggestion_cache
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.turns import selectors
from dashboard.turns.end_summary import _ORDER, end_summary_of
from dashboard.turns.filters import NEWEST_FIRST, OLDEST_FIRST, SORTS, TimelineFilters
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.selectors import BadCursorError, Page
from dashboard.turns.sort_order import COLUMNS, WINDOWS
from tests.dashboard.driving import Play
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db
BY_COLUMN = [sort for sort in SORTS if sort.removeprefix("-") in COLUMNS]


@pytest.fixture(autouse=True)
def made() -> None:
    """Some alike, and some of which nothing is known yet."""
    for n, took in enumerate((5, None, 9, 5, 0, None, 7)):
        words = (None, "completed", "retry_limit")[n % 3]
        told = {"stop_reason": words, "raw_stop_reason": words, "error_type": words, "model": f"m{n % 2}"}
        counts = {"attempts": n % 2, "continuations": n % 3, "max_tokens": 60 + n % 2}
        make_turn(output_tokens=n % 3, duration_ms=took, **told, **counts)


def page(sort: str, cursor: str | None = None, limit: int = 2) -> Page:
    filters = TimelineFilters(sort=sort)
    return selectors.timeline(project=project_default(), filters=filters, cursor=cursor, limit=limit)


@pytest.mark.parametrize("sort", BY_COLUMN)
def test_paging_shows_each_turn_once_in_order_in_both_directions(sort: str):
    wanted = [turn.id for turn in page(sort, limit=100).items]
    column = {**COLUMNS, "took": "took_ms"}[sort.removeprefix("-")]
    values = [getattr(turn, column) for turn in page(sort, limit=100).items]
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


@pytest.mark.parametrize("sort", ["took", "-took"])
def test_the_time_for_which_a_turn_was_held_does_not_count_in_the_order(sort: str):
    Turn.objects.all().delete()
    quick = make_turn(duration_ms=3_740)
    held = make_turn(duration_ms=25_514, held_ms=25_100)
    running = make_turn(duration_ms=None)
    slow = make_turn(duration_ms=9_920)
    known = [held, quick, slow]
    wanted = [*(known if sort == "took" else known[::-1]), running]
    assert page(sort, limit=9).items == wanted
    assert page(sort, page(sort, limit=1).next, limit=1).items == wanted[1:2]


@pytest.mark.parametrize("sort", ["took", "-took"])
def test_turns_whose_log_gives_no_times_go_last_in_either_direction(sort: str):
    Turn.objects.all().delete()
    untimed = make_turn(duration_ms=0, attempts=1)
    timed = make_turn(duration_ms=900, attempts=1)
    assert page(sort, limit=9).items == [timed, untimed]


CUT = {"status": "partial", "model_stop_reason": "max_tokens"}
ENDS = (
    {"status": "completed", "model_stop_reason": "end_turn", "attempts": 1},
    {"status": "completed", "model_stop_reason": "end_turn", "attempts": 3, "continuations": 2},
    {"status": "completed", "model_stop_reason": "end_turn", "attempts": 11, "continuations": 10},
    {"status": "completed", "model_stop_reason": "end_turn", "attempts": 1, "lint": ["output_at_cap"]},
    {"status": "completed", "model_stop_reason": "unknown", "attempts": 1, "raw_stop_reason": "done"},
    {
        "status": "partial",
        "model_stop_reason": "max_tokens",
        "resource": "max_continuations",
        "stop_reason": "retry_limit",
    },
    {
        "status": "partial",
        "model_stop_reason": "max_tokens",
        "resource": "max_total_tokens",
        "stop_reason": "token_limit",
    },
    {"status": "failed", "error_type": "rate_limit", "stop_reason": "error"},
    {"status": "running"},
)


@pytest.mark.parametrize("sort", ["ended", "-ended"])
def test_turns_with_the_same_ending_are_adjacent(sort: str):
    Turn.objects.all().delete()
    for _ in range(2):
        for told in ENDS:
            make_turn(**told)
    shown = [end_summary_of(turn) for turn in page(sort, limit=99).items]
    wanted = [end_summary_of(Turn(**told)) for told in ENDS for _ in range(2)]
    assert shown == (wanted if sort == "ended" else wanted[::-1])


def test_the_sort_order_covers_every_ending():
    """Words that are in no row of the order would stand behind turns that have not ended."""
    ended = {end_summary_of(Turn(**told)).words for told in ENDS[:-1]}
    assert ended <= set(_ORDER)


@pytest.mark.parametrize("sort", ["limit", "-limit"])
def test_limits_of_one_kind_are_adjacent_and_those_without_a_value_come_last(sort: str, monkeypatch):
    Turn.objects.all().delete()
    turns = [make_turn() for _ in range(6)]
    kept = [("max_tokens", 900, True), ("max_seconds", 30, True), ("max_tokens", 80, True), ("max_seconds", 9, False)]
    told: list[Suggestion | None] = [None, *(suggestion(*each) for each in kept), None]
    found = {turn.id: said for turn, said in zip(turns, told, strict=True)}
    monkeypatch.setattr(list_suggestions, "suggestions_lately", lambda ids: {each: found[each] for each in ids})
    shown = [found[turn.id] for turn in page(sort, limit=99).items]
    values = [(said.limit, said.value) if said else None for said in shown]
    known = [("max_seconds", 30), ("max_tokens", 80), ("max_tokens", 900)]
    assert values == [*(known if sort == "limit" else known[::-1]), ("max_seconds", 9), None, None]


def suggestion(limit: str, value: int, known: bool) -> Suggestion:
    certainty = Certainty.CERTAIN if known else Certainty.UNDECIDABLE
    return Suggestion(limit, value, 1, certainty, Basis.RECORDING if known else Basis.NONE)


@pytest.mark.parametrize("sort", ["prompt", "-prompt"])
def test_prompts_sort_as_their_rows_show_them_and_those_without_words_come_last(sort: str):
    Turn.objects.all().delete()
    texts = ("zebra", "  Apple\n pie", "apple tart", "Äpfel", " \n", "")
    made = {make_turn(input_text=text).id: text for text in texts}
    shown = [made[turn.id] for turn in page(sort, limit=99).items]
    known = ["  Apple\n pie", "apple tart", "zebra", "Äpfel"]
    assert shown[:4] == (known if sort == "prompt" else known[::-1])
    assert not "".join(shown[4:]).strip()
    assert [turn.id for turn in page(sort, page(sort, limit=3).next, limit=1).items] == [
        turn.id for turn in page(sort, limit=99).items[3:4]
    ]


def test_the_oldest_turns_come_first_without_the_bound_of_other_orders(monkeypatch):
    monkeypatch.setattr(selectors, "WINDOW", 2)
    oldest_first = list(Turn.objects.order_by("id"))
    assert page(OLDEST_FIRST, limit=99).items == oldest_first
    assert page(OLDEST_FIRST).sorted_among == 0
    second = page(OLDEST_FIRST, page(OLDEST_FIRST).next)
    assert (second.items, page(OLDEST_FIRST, second.previous).items) == (oldest_first[2:4], oldest_first[:2])


def test_the_sort_by_age_is_the_default_order():
    assert TimelineFilters.parse({"sort": NEWEST_FIRST}) == (TimelineFilters(), {})


def test_later_turns_do_not_shift_the_pages():
    first = page("-took")
    wanted = page("-took", first.next).items
    make_turn(duration_ms=6)
    assert page("-took", first.next).items == wanted


def test_only_the_newest_turns_are_sorted_and_the_page_says_so(monkeypatch):
    assert page("-took").sorted_among == 0
    monkeypatch.setattr(selectors, "WINDOW", 4)
    assert (page("-took").sorted_among, page("-took").items[0].duration_ms) == (4, 7)


def test_a_cursor_of_another_list_is_refused():
    for cursor in ("x", "WzFd", "W251bGwsbnVsbCwwXQ==", page("ended").next, page("took").next, page("").next):
        with pytest.raises(BadCursorError):
            page("-took", cursor)


def test_costs_are_sorted_with_the_simulator_as_free_and_unknown_prices_last():
    Turn.objects.all().delete()
    models = ("gpt-4o", "gpt-4o", "nobody's", "sim-essay")
    dear, cheap, unknown, free = (make_turn(model=model, attempts=1) for model in models)
    for turn, tokens in ((dear, 9_000), (cheap, 90), (unknown, 900), (free, 99_000)):
        Attempt.objects.create(
            turn_id=turn.id, index=1, kind="initial", iteration=1, provider="openai", model=turn.model, max_tokens=60,
            request_sha256="", request_url="https://api.openai.com/v1/chat/completions", started_at=timezone.now(),
            usage={"input_tokens": 10, "output_tokens": tokens},
        )  # fmt: skip
    assert page("cost", limit=9).items == [free, cheap, dear, unknown]
    assert page("-cost", limit=9).items == [dear, cheap, free, unknown]
    assert page("-cost", page("-cost", limit=1).next, limit=1).items == [cheap]


@pytest.mark.django_db(transaction=True)
def test_the_limit_that_would_have_sufficed_is_sorted_among_fewer_turns(play: Play, monkeypatch: pytest.MonkeyPatch):
    Turn.objects.all().delete()
    cut = play("sim-essay", max_tokens=150)
    whole = play("sim-essay", name="whole", max_tokens=900)
    assert page("limit", limit=9).items == [cut, whole]
    assert page("-limit", limit=9).items == [cut, whole]
    assert page("limit").sorted_among == 0
    with connection.cursor() as cursor:  # a history that was damaged has no limit, and hides no other turn
        cursor.execute("SET session_replication_role = 'replica'")
        cursor.execute("UPDATE turns_record SET packed = NULL WHERE turn_id = %s", [cut.id])
        cursor.execute("SET session_replication_role = 'origin'")
    suggestion_cache._suggestions.clear()
    assert {turn.id for turn in page("limit", limit=9).items} == {cut.id, whole.id}
    monkeypatch.setitem(WINDOWS, "limit", 1)
    assert (page("limit").sorted_among, page("limit").items) == (1, [whole])
