"""No text makes the search index slow, and what it is indexed by is still found as it is typed."""

import string
from pathlib import Path

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.agents.selectors import project_default
from dashboard.replay.comparison.selectors import candidates_for
from dashboard.turns.filters import MAX_LENGTH, MAX_VALUES, TimelineFilters
from dashboard.turns.id_range import IdRange
from dashboard.turns.search_words import words_of, words_query
from dashboard.turns.selectors import turns_matching
from dashboard.turns.turn_query import find
from tests.dashboard.timeline.populations import make_turn
from tests.examples import examples
from tests.nightly import nightly

pytestmark = pytest.mark.django_db

#: What is indexed of a turn that has a text alone.
WORDS = """whystop_search('00000000-0000-0000-0000-000000000000', '', %(text)s || n, NULL, NULL, '', '', '', '', NULL,
                          0, 0, 0, '{}', 0, 0, 0)"""

#: Runs of these took PostgreSQL's text parser more than a minute for 80 kB.
SLOW = ["a_", "_1", "a“", "—", "✅", "a1@", "<!--", "a-1-", "./", "/.", "~/", "1aa-a.", "/./."]


def indexed(text: str) -> None:
    """Index the text in both places, within the seconds that a busy machine takes for what takes a tenth of one."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '15s'")
        make_turn(input_text=text, output_text=text)
        cursor.execute("SET LOCAL statement_timeout = 0")


def nanoseconds(sql: str, text: str) -> int:
    """Of a processor that the database takes for it, at best: how busy the machine is else does not count."""
    took = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        spent = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")
        for _ in range(5):
            before = int(spent.read_text().split()[0])
            cursor.execute(f"SELECT count({sql}) FROM generate_series(1, 100) n", {"text": text})
            took.append(int(spent.read_text().split()[0]) - before)
    return min(took)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="processor time is read from /proc")
def test_replacing_characters_costs_little_compared_with_parsing():
    text = "The river's banks, as they were (in 1999), are gone; nobody knows why. " * 20
    read = "to_tsvector('pg_catalog.simple'::regconfig, %(text)s || n)"
    assert nanoseconds(WORDS, text) < 2.5 * nanoseconds(read, text)


@pytest.mark.parametrize("run", SLOW)
def test_a_run_of_punctuation_is_indexed_as_fast_as_any_text(run: str):
    indexed(run * (120_000 // len(run)))


@settings(max_examples=examples(40), deadline=None)
@given(st.text(string.punctuation + "aé1 \n", min_size=1, max_size=6))
def test_no_short_repeated_sequence_is_slow(run: str):
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
        ("“the river’s” —lakes…", '"the river s" lakes'),
        ("«blue sky»", '"blue sky"'),
        ("停止。模型！", '"停止 模型"'),
        ("✅ — “”", ""),
    ],
)
def test_a_query_is_searched_by_its_words(typed: str, asked: str):
    assert words_query(typed) == asked


@pytest.mark.parametrize(
    "typed", ["foo.py", "snake_case", "re-run", "me@mail.example", "3.14", '"the re-run of foo.py"']
)
def test_words_with_punctuation_are_found_as_typed(typed: str):
    turn = make_turn(output_text="So the re-run of foo.py mailed 3.14 as snake_case to me@mail.example, twice.")
    make_turn(output_text="Some foo and py; a run, snake or case; 14 times 3, example of a mail.")
    found = find(project=project_default(), filters=TimelineFilters(q=typed), reach=IdRange(newest_first=True), limit=9)
    assert [turn_id for turn_id, _ in found] == [turn.id]


@pytest.mark.parametrize("typed", ["foo.py", "re-run", "me@mail.example", '"the re-run of foo.py"'])
def test_a_backtest_covers_the_turns_of_the_timeline(typed: str):
    turn = make_turn(output_text="So the re-run of foo.py mailed 3.14 as snake_case to me@mail.example, twice.")
    make_turn(output_text="Some foo and py; a run, snake or case; 14 times 3, example of a mail.")
    assert list(turns_matching(project=project_default(), filters=TimelineFilters(q=typed))) == [turn]


def test_all_ascii_punctuation_separates_words():
    words = [f"{letter}{place}" for place, letter in enumerate("ab" * 16)]
    text = "".join(word + mark for word, mark in zip(words, string.punctuation, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT tsvector_to_array({WORDS.replace(' || n', '')})", {"text": text})
        (found,) = cursor.fetchone()
    assert set(words) == {word for word in found if not word.startswith("\x01")}


#: As people and models write. In Unicode's order, one of each part of the pattern at least.
UNICODE = "\u00a0«»·¿×՚։־،؛؟٪۔।\u200b–—‘’“”„…‹›€→≤─■✅✨⬛⸮、。「」『』【】・︙﹐！，：？［～｡￥🀄🎉🧠"


def test_punctuation_and_symbols_of_unicode_separate_words():
    words = [f"{letter}{place}" for place, letter in enumerate("aéж模ב" * len(UNICODE))][: len(UNICODE)]
    text = "".join(word + mark for word, mark in zip(words, UNICODE, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT tsvector_to_array({WORDS.replace(' || n', '')})", {"text": text})
        (found,) = cursor.fetchone()
    assert set(words) == {word for word in found if not word.startswith("\x01")} == set(words_of(text))


@pytest.mark.parametrize(
    "typed", ["heronry", "“heronry”", '"said heronry twice"', "loudly", "model’s", "naïve", "done"]
)
def test_words_beside_curly_quotes_dashes_and_emoji_are_found(typed: str):
    turn = make_turn(output_text="He said “heronry” twice—loudly… and the model’s naïve. done✅")
    make_turn(output_text="Some herons; a model of it.")
    found = find(project=project_default(), filters=TimelineFilters(q=typed), reach=IdRange(newest_first=True), limit=9)
    assert [turn_id for turn_id, _ in found] == [turn.id]


@pytest.mark.parametrize("run", [*SLOW[::3], *(nightly(run) for run in SLOW if run not in SLOW[::3])])
def test_no_text_makes_a_search_slow(run: str):
    text = run * (120_000 // len(run))
    turn, other = make_turn(input_text=text), make_turn(input_text=text)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '15s'")
    for asked in (run, f"-{run}"):
        one = (asked * MAX_LENGTH)[:MAX_LENGTH]
        filters, faults = TimelineFilters.parse({"q": [f"{one[:-2]}{number:02}" for number in range(MAX_VALUES)]})
        if faults:
            filters, faults = TimelineFilters.parse({"q": [f"{one[:-2]}01", f"{one[:-2]}02"]})
        assert not faults, "among the longest that can be asked for"
        list(turns_matching(project=project_default(), filters=filters))
        find(project=project_default(), filters=filters, reach=IdRange(newest_first=True), limit=9)
    found = candidates_for(turn)
    assert [each.id for candidates in found for each in candidates.turns] == (
        [other.id] if "a" in run or "1" in run else []
    )
