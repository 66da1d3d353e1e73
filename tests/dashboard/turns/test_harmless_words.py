"""No text makes the search index slow, and what it is indexed by is still found as it is typed."""

import string
from importlib import import_module

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.agents.selectors import project_default
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.finding import find
from dashboard.turns.models import Turn
from dashboard.turns.reach import Reach
from dashboard.turns.terms import words_query
from tests.dashboard.timeline.populations import make_turn

MIGRATION = import_module("dashboard.turns.migrations.0012_harmless_words")

pytestmark = pytest.mark.django_db

#: Runs of these took PostgreSQL's text parser more than a minute for 80 kB.
SLOW = ["a_", "_1", "a1@", "<!--", "a-1-", "./", "/.", "~/", "1aa-a.", "/./."]


def indexed(text: str) -> None:
    """Index the text in both places, within two seconds."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '2s'")
        make_turn(input_text=text, output_text=text)
        cursor.execute("SET LOCAL statement_timeout = 0")


@pytest.mark.parametrize("run", SLOW)
def test_a_run_of_punctuation_is_indexed_as_fast_as_any_text(run: str):
    indexed(run * (120_000 // len(run)))


@settings(max_examples=40, deadline=None)
@given(st.text(string.punctuation + "aé1 \n", min_size=1, max_size=6))
def test_no_short_run_that_is_repeated_is_slow(run: str):
    indexed(run * (60_000 // len(run)))


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("rivers", "rivers"),
        ("-lakes", "-lakes"),
        ("lakes or over", "lakes or over"),
        ('"rivers lakes" -"blue sky"', '"rivers lakes" -"blue sky"'),
        ("foo.py", '"foo py"'),
        ("re-run -snake_case", '"re run" -"snake case"'),
        ('"or"', '"or"'),
        ("! -- .", ""),
        ('"foo.py, twice', '"foo py twice"'),
        ("a@b.example", '"a b example"'),
        ("'; DROP", "DROP"),
    ],
)
def test_what_is_typed_is_asked_for_by_its_words(typed: str, asked: str):
    assert words_query(typed) == asked


@pytest.mark.parametrize(
    "typed", ["foo.py", "snake_case", "re-run", "me@mail.example", "3.14", '"the re-run of foo.py"']
)
def test_words_with_punctuation_are_found_as_they_are_typed(typed: str):
    turn = make_turn(output_text="So the re-run of foo.py mailed 3.14 as snake_case to me@mail.example, twice.")
    make_turn(output_text="Some foo and py; a run, snake or case; 14 times 3, example of a mail.")
    found = find(project=project_default(), filters=TimelineFilters(q=typed), reach=Reach(newest_first=True), limit=9)
    assert [turn_id for turn_id, _ in found] == [turn.id]


def test_a_turn_that_was_indexed_by_words_with_their_punctuation_is_still_found():
    turn = make_turn(output_text="So it says in foo.py")
    with connection.cursor() as cursor:
        cursor.execute(MIGRATION.BEFORE)
        Turn.objects.filter(id=turn.id).update(output_text="So it says in bar.py")
        cursor.execute(MIGRATION.AFTER)
    found = find(
        project=project_default(), filters=TimelineFilters(q="bar.py"), reach=Reach(newest_first=True), limit=9
    )
    assert [turn_id for turn_id, _ in found] == [turn.id]
