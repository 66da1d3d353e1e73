"""A search for a phrase finds what PostgreSQL finds by its vectors, and makes none of them."""

import string

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.agents.selectors import project_default
from dashboard.turns import turn_query
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.id_range import IdRange
from dashboard.turns.indexes import WORDS_SQL
from dashboard.turns.models import Turn
from dashboard.turns.search_words import read, words_query
from dashboard.turns.selectors import turns_matching
from dashboard.turns.turn_query import find
from tests.dashboard.timeline.populations import make_turn
from tests.examples import examples

pytestmark = pytest.mark.django_db

NEWEST = IdRange(newest_first=True)
WORD = st.sampled_from(["a", "b", "Foo", "py", "7e2af3", "é"])
TEXTS = st.lists(st.tuples(WORD, st.sampled_from([" ", ".", "_", ", ", "\n"])), max_size=6).map(
    lambda pieces: "".join(word + mark for word, mark in pieces)
)
ASKED = st.lists(
    st.one_of(
        WORD,
        st.just("or"),
        st.builds('{}"{}"'.format, st.sampled_from(["", "-"]), st.lists(WORD, max_size=3).map(" ".join)),
        st.builds("{}{}".format, st.sampled_from(["", "-"]), st.lists(WORD, min_size=2, max_size=3).map("_".join)),
    ),
    min_size=1,
    max_size=4,
).map(" ".join)


def found(asked: str, *, limit: int = 9) -> list[object]:
    filters = TimelineFilters(q=asked)
    return [turn_id for turn_id, _ in find(project=project_default(), filters=filters, reach=NEWEST, limit=limit)]


def vectors_made() -> int:
    """How often this transaction had the words of a turn made, to index them or for a search."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(calls) FROM pg_stat_xact_user_functions WHERE funcname = 'whystop_search'")
        return int(cursor.fetchone()[0] or 0)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4), ASKED)
def test_a_search_finds_the_same_as_the_vectors_of_the_texts(texts: list[tuple[str, str]], asked: str):
    Turn.objects.all().delete()
    for question, answer in texts:
        make_turn(input_text=question, output_text=answer)
    with connection.cursor() as cursor:
        query = "websearch_to_tsquery('simple', %s)"
        cursor.execute(
            f"SELECT id FROM turns_turn WHERE numnode({query}) > 0 AND {WORDS_SQL} @@ {query} ORDER BY id DESC",
            [words_query(asked)] * 2,
        )
        expected = [turn_id for (turn_id,) in cursor.fetchall()]
    assert found(asked) == expected
    matching = turns_matching(project=project_default(), filters=TimelineFilters(q=asked))
    assert [turn.id for turn in matching] == expected[::-1]


@pytest.mark.parametrize(
    "asked", ["foo.py", "snake_case", '"two words"', '-"two words"', "words or foo.py", "7e2af3", "a_" * 200, "-lakes"]
)
def test_no_search_recomputes_the_vectors_of_a_turn(asked: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turn_query, "WINDOW", 2)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL track_functions = 'pl'")
    turns = [make_turn(output_text=f"{'a_' * 201} two words, py foo of foo.py as snake_case 7e2af3") for _ in range(5)]
    before = vectors_made()
    assert before >= len(turns)
    expected = [] if asked.startswith('-"') else [turn.id for turn in reversed(turns)]
    assert found(asked) == expected
    assert vectors_made() == before


def test_texts_are_read_only_of_displayed_turns():
    for _ in range(20):
        make_turn(output_text="foo.py")
    with connection.cursor() as cursor:
        texts, values = read("foo.py").texts_sql()
        sql = turn_query.PHRASES.format(
            search=WORDS_SQL, query="%(terms)s::tsquery", narrow="TRUE", order="DESC", texts=texts
        )
        reach = {"project": project_default().pk, "low": NEWEST.low, "high": NEWEST.high, "limit": 3}
        with turn_query._short_reads(True):
            cursor.execute(
                f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {sql}",
                {**reach, **values, "terms": read("foo.py").indexed},
            )
            told = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index Scan using turns_turn_pkey on turns_turn (actual rows=1.00 loops=3)" in told, told


def test_punctuation_alone_finds_nothing():
    make_turn(output_text="foo.py")
    assert found(string.punctuation) == []
    assert not turns_matching(project=project_default(), filters=TimelineFilters(q="-- !")).exists()


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ([f"foo{n}.py" for n in range(16)], True),
        ([f"foo{n}.py" for n in range(17)], False),
        ([f"foo{n}" for n in range(50)], True),
        ([f"foo{n} or" for n in range(17)], True),
        ([f"foo{n} or" for n in range(17)] + ["foo.py"], False),
        ([f"{n}e5a" for n in range(17)], False),
        (["a_" * 250, "b_" * 250], True),
        (["a_" * 250, "b_" * 250, "b.c"], False),
        (['"a a', "a " * 200, "b " * 200, "c " * 200, 'a"'], False),
    ],
)
def test_the_number_and_length_of_searched_phrases_are_limited(asked: list[str], fits: bool):
    _, faults = TimelineFilters.parse({"q": asked})
    assert ("q" not in faults) == fits
