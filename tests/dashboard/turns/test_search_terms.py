"""A term that is asked for is one that the database writes, and it is never a word."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.postgres.search import SearchQuery
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from dashboard.platform.ids import first_id_at, new_id
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.indexes import WORDS_SQL, found_by
from dashboard.turns.models import Turn
from dashboard.turns.search_terms import MOST_SPANS, span_query, text_query
from tests.dashboard.timeline.populations import make_turn

MOMENT = datetime(2026, 11, 20, tzinfo=UTC)


def has_terms(turn: Turn, query: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {WORDS_SQL} @@ %s::tsquery FROM turns_turn WHERE id = %s", [query, turn.id])
        return cursor.fetchall() == [(True,)]


@pytest.mark.django_db
@pytest.mark.parametrize("number", [0, 1, 3, 4, 15, 16, 1000, 2**31, 2**40])
def test_a_number_has_a_term_for_every_range_that_contains_it(number: int):
    turn = make_turn(input_tokens=number, duration_ms=number)
    for name in ("tokens", "duration"):
        for low, high in [(number, number), (None, number), (number, None), (number // 2, number * 2)]:
            assert has_terms(turn, text_query(TimelineFilters(**{f"{name}_from": low, f"{name}_to": high})))
        if 20 < number < 2**33:
            assert not has_terms(turn, text_query(TimelineFilters(**{f"{name}_to": number // 20})))


@pytest.mark.django_db
@pytest.mark.parametrize("value", ["it's", "back\\slash", "a & b | !c", "'", "x" * 300, "天空", "a:b"])
def test_any_value_is_found_by_its_term_and_its_parts_are_not_words(value: str):
    turn, query = make_turn(model=value, agent_name=value), text_query(TimelineFilters(model=(value,), agent=(value,)))
    assert has_terms(turn, query)
    assert not has_terms(turn, text_query(TimelineFilters(model=("other",))))
    words = SearchQuery(f"model {value}", config="simple")
    assert not Turn.objects.filter(found_by(words)).exists()


@pytest.mark.django_db
def test_every_property_of_a_turn_is_a_term():
    turn = make_turn(continuations=1, envelope_retries=2, tags=["x"], error_type="tool")
    filters = TimelineFilters(has=("continuation", "envelope_retry"), tag=("y", "x"), error_type=("tool",))
    assert has_terms(turn, text_query(filters))
    assert not has_terms(turn, text_query(TimelineFilters(has=("continuation", "repair"))))


@pytest.mark.django_db
@pytest.mark.parametrize("span", [timedelta(0), timedelta(minutes=3), timedelta(hours=5), timedelta(days=40)])
def test_an_id_has_a_term_for_every_period_that_contains_it(span: timedelta):
    turn = make_turn(MOMENT)
    for low, high in [(MOMENT - span, MOMENT), (MOMENT, MOMENT + span)]:
        assert has_terms(turn, span_query(first_id_at(low), first_id_at(high + timedelta(milliseconds=1))))
    later = (first_id_at(MOMENT + timedelta(days=days)) for days in (4, 5))
    assert not has_terms(turn, span_query(*later))


@given(start=st.integers(0, 2**48 - 1), length=st.integers(0, 2**40))
def test_a_period_is_expressed_in_few_terms_or_not_at_all(start: int, length: int):
    low, high = (type(new_id())(int=min(n, 2**48 - 1) << 80) for n in (start, start + length))
    assert span_query(low, high).count("|") < MOST_SPANS


def test_no_filters_give_no_terms():
    assert text_query(TimelineFilters(q="rivers", since=MOMENT)) == ""
