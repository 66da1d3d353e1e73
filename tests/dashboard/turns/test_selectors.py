from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.http import QueryDict

from dashboard.agents import selectors as agents
from dashboard.platform.ids import first_id_at, new_id
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.selectors import backtest_get
from dashboard.turns import selectors, text_budget
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import AttemptChunk, Turn

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def make_turn(**columns: Any) -> Turn:
    values = {"agent_name": "a", "provider": "openai", "model": "m", "max_tokens": 60}
    return Turn.objects.create(**{"project": agents.project_default(), **values, **columns})


def found(query: str = "", **more: Any) -> list[Turn]:
    filters, errors = TimelineFilters.parse(QueryDict(query))
    assert errors == {}
    return selectors.timeline(project=agents.project_default(), filters=filters, **more).items


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("status=failed", {"status": "failed"}),
        ("stop_reason=retry_limit", {"stop_reason": "retry_limit"}),
        ("model_stop_reason=max_tokens", {"model_stop_reason": "max_tokens"}),
        ("provider=anthropic", {"provider": "anthropic"}),
        ("model=m2", {"model": "m2"}),
        ("agent=b", {"agent_name": "b"}),
        ("has=continuation", {"continuations": 1}),
        ("has=repair", {"tool_repairs": 1}),
        ("has=envelope_retry", {"envelope_retries": 1}),
        ("error_type=rate_limit", {"error_type": "rate_limit"}),
        ("tag=seen&tag=odd", {"tags": ["odd", "last"]}),
        ("tokens_from=7", {"input_tokens": 3, "output_tokens": 4}),
        ("tokens_from=7&tokens_to=7", {"input_tokens": 7}),
        ("duration_from=0", {"duration_ms": 0}),
        ("duration_from=5&duration_to=9", {"duration_ms": 9}),
        ("duration_from=5&duration_to=9", {"duration_ms": 90_007, "held_ms": 90_000}),
        ("q=rivers&duration_to=9", {"input_text": "Rivers.", "duration_ms": 90_007, "held_ms": 90_000}),
        ("has=repair&has=continuation", {"continuations": 1, "tool_repairs": 2}),
        ("not_status=completed&not_status=running&not_status=queued", {"status": "failed"}),
        ("not_tag=plain&tag=odd", {"tags": ["odd"]}),
        ("q=rivers", {"input_text": "Tell me about Rivers."}),
        ("q=%22long+rivers%22+-lakes", {"output_text": "The long rivers"}),
    ],
)
def test_each_filter_finds_only_its_turn(query: str, columns: dict):
    make_turn(input_text="rivers and lakes" if "lakes" in query else "")
    wanted = make_turn(**columns)
    make_turn(status="completed", tool_repairs=1 if "has=repair&" in query else 0)
    assert found(query) == [wanted]


def test_times_refer_to_the_creation_of_a_turn():
    before, at, after = (make_turn(id=first_id_at(NOW + timedelta(seconds=n))) for n in (-1, 0, 1))
    assert found("since=2026-11-20") == [after, at]
    assert found("until=2026-11-20") == [before]
    assert found("since=2026-11-20&until=2026-11-20T00:00:01Z") == [at]


def test_the_turns_of_another_project_are_not_visible():
    other = agents.Project.objects.create(name="other")
    make_turn(project=other)
    assert found() == []
    assert selectors.models_seen(agents.project_default()) == []


def test_a_page_takes_a_constant_number_of_queries(django_assert_max_num_queries):
    for _ in range(5):
        make_turn(output_text="words")
    project = agents.project_default()
    with django_assert_max_num_queries(5):
        page = selectors.timeline(project=project, filters=TimelineFilters(), limit=3)
        assert [(turn.output_text, turn.policy_version) for turn in page.items] == [("words", None)] * 3


@pytest.mark.parametrize("sort", ["", "-tokens"])
def test_a_page_of_large_texts_has_fewer_turns_and_links_to_the_others(monkeypatch: pytest.MonkeyPatch, sort: str):
    monkeypatch.setattr(text_budget, "MOST", 100)
    made = [make_turn(input_text="é" * 20, output_text="x" * size) for size in (10, 200, 10, 10)]
    filters, pages, cursor = TimelineFilters(sort=sort), [], None
    while not pages or cursor:
        page = selectors.timeline(project=agents.project_default(), filters=filters, cursor=cursor)
        pages.append([turn.id for turn in page.items])
        cursor = page.next
    assert [len(page) for page in pages] == [2, 1, 1]
    assert [turn_id for page in pages for turn_id in page] == [turn.id for turn in reversed(made)]
    back = selectors.timeline(project=agents.project_default(), filters=filters, cursor=page.previous)
    assert [turn.id for turn in back.items] == pages[1]


def test_a_page_of_rows_reads_only_the_start_of_texts(django_assert_num_queries):
    make_turn(input_text="é" * 20, output_text="x" * 20)
    (turn,) = found(beginning=5)
    with django_assert_num_queries(0):
        assert (turn.input_text, turn.output_text) == ("é" * 5, "x" * 5)
    texts = [name for name, value in vars(turn).items() if value in ("é" * 5, "x" * 5)]
    assert sorted(texts) == ["input_text", "output_text"], "who lets go of a text keeps no second one"


def test_a_page_that_became_empty_still_links_back():
    newest, oldest = make_turn(), make_turn()
    newest, oldest = oldest, newest
    project = agents.project_default()
    page = selectors.timeline(project=project, filters=TimelineFilters(), limit=1)
    Turn.objects.filter(pk=oldest.pk).delete()
    empty = selectors.timeline(project=project, filters=TimelineFilters(), cursor=page.next, limit=1)
    assert (empty.items, empty.next) == ([], None)
    Turn.objects.filter(pk=newest.pk).delete()
    newer = make_turn()
    back = selectors.timeline(project=project, filters=TimelineFilters(), cursor=empty.previous, limit=1)
    assert back.items == [newer]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_page_whose_turns_were_just_erased_links_on(monkeypatch: pytest.MonkeyPatch, is_first: bool):
    """A page of large texts has one turn, and whoever walks all pages is not at their end."""
    oldest, gone, newest = make_turn(), make_turn(), make_turn()
    asked = {"project": agents.project_default(), "filters": TimelineFilters(), "limit": 1}
    cursor = None if is_first else selectors.timeline(**asked).next
    erased = newest if is_first else gone

    def fitting(_ids: list[UUID]) -> int:
        Turn.objects.filter(pk=erased.pk).delete()
        return 1

    monkeypatch.setattr(selectors, "fitting", fitting)
    page = selectors.timeline(**asked, cursor=cursor)
    assert (page.items, page.next is None) == ([], False)
    assert selectors.timeline(**asked, cursor=page.next).items == [gone if is_first else oldest]


def test_known_models_are_listed_once_in_order():
    for model in ("m2", "m1", "m2", "m3"):
        make_turn(model=model)
    assert selectors.models_seen(agents.project_default()) == ["m1", "m2", "m3"]


def test_all_matching_turns_are_returned_oldest_first():
    first, second = make_turn(), make_turn()
    make_turn(status="failed")
    turns = selectors.turns_matching(project=agents.project_default(), filters=TimelineFilters(status=("queued",)))
    assert list(turns) == [first, second]


def test_raw_answers_are_joined_by_attempt_and_limited(django_assert_num_queries):
    turn_id = new_id()
    for attempt, n, raw in [(1, 1, b"abc"), (1, 2, b"def"), (1, 3, b"ghi"), (2, 1, b"xy")]:
        AttemptChunk.objects.create(turn_id=turn_id, attempt=attempt, n=n, raw=raw, at=NOW)
    with django_assert_num_queries(1):
        assert selectors.raw_responses_of(turn_id, most=4) == {1: b"abcde", 2: b"xy"}
    assert selectors.raw_responses_of(turn_id, most=100) == {1: b"abcdefghi", 2: b"xy"}
    assert selectors.raw_responses_of(new_id(), most=1) == {}


def test_a_missing_turn_or_backtest_is_reported():
    with pytest.raises(Turn.DoesNotExist):
        selectors.turn_get(new_id())
    with pytest.raises(Backtest.DoesNotExist):
        backtest_get(new_id(), project=agents.project_default())
