"""`manage.py query`: questions are answered as a table or as CSV, and nothing can be changed by one."""

import csv
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from dashboard.turns.models import Turn
from tests.dashboard.gateway.stored_calls import call_stored

DOCS = (Path(__file__).parents[4] / "docs" / "how-to" / "sql.md").read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"```sql\n(.+?)```", DOCS, re.DOTALL) if block.startswith("SELECT")]
pytestmark = pytest.mark.django_db(transaction=True)
QUESTIONS = [block for block in BLOCKS if "FROM whystop." in block]


def query(sql, **options):
    out = StringIO()
    call_command("query", sql, stdout=out, **options)
    return out.getvalue()


def test_a_result_is_a_table():
    assert query("SELECT 1 AS one, 'two\nlines' AS more").splitlines() == ["one  more", "1    two lines", "(1 row)"]


def test_a_result_is_csv():
    assert query("SELECT 1 AS one, 'a,b' AS more, NULL AS nothing", csv=True).splitlines() == [
        "one,more,nothing",
        '1,"a,b",',
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1"])
def test_no_text_becomes_a_spreadsheet_formula(text: str):
    asked = f"SELECT E'{text}' AS told, -1 AS number, -0.5::float AS half"
    assert next(csv.reader(query(asked, csv=True).splitlines(keepends=True)[1:])) == [f"'{text}", "-1", "-0.5"]
    assert f"'{text}" not in query(asked, csv=True, exact=True)


def test_no_text_controls_the_terminal_a_table_is_printed_to():
    (_, row, _) = query("SELECT E'\\u001b[31mred\\u009b\\u202e' AS told").splitlines()
    assert row == r"\x1b[31mred\x9b\u202e"


def test_views_need_no_schema_prefix():
    assert query("SELECT count(*) FROM turns").splitlines()[1].strip() == "0"


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DELETE FROM turns_turn", "returns no rows"),
        ("DELETE FROM turns_turn RETURNING id", "read-only"),
        ("COPY (SELECT 1) TO STDOUT", "returns no rows"),
        ("COPY (SELECT 1) TO PROGRAM 'false'", "returns no rows"),  # were it begun, the program would fail
        ("SELECT pg_read_file('/etc/hostname')", "permission denied"),
        ("SELECT pg_reload_conf()", "permission denied"),
        ("COMMIT; DELETE FROM turns_turn", "multiple commands"),
        ("SELECT pg_sleep(3)", "statement timeout"),
        ("SELECT nothing", "does not exist"),
        (" ", "The query is empty"),
    ],
)
def test_a_statement_that_is_not_a_query_is_refused_with_an_explanation(sql, why):
    with pytest.raises(CommandError, match=why):
        query(sql, seconds=1)


def test_the_ten_queries_of_the_docs_work(play):
    turn = play("sim-essay", max_tokens=120)
    play("sim-errors", name="failing")
    play("sim-essay", name="limited", max_tokens=60, overrides={"limits": {"max_continuations": 1}})
    call_stored(turn, at=turn.created_at, caller="notebook")
    assert len(QUESTIONS) == 10
    for question in QUESTIONS:
        with connection.cursor() as cursor:
            cursor.execute(question)
            assert cursor.fetchall(), question


def test_each_object_is_one_row(play):
    turn = play("sim-essay", max_tokens=120)
    assert turn.continuations > 1
    counts = {}
    with connection.cursor() as cursor:
        for view in ("turns", "attempts", "judgements", "continuations", "errors", "runs"):
            cursor.execute(f"SELECT count(*) FROM whystop.{view}")
            (counts[view],) = cursor.fetchone()
        cursor.execute("SELECT count(*), count(DISTINCT (turn_id, seq, position, criterion)) FROM whystop.criteria")
        said, apart = cursor.fetchone()
    assert said == apart > counts["judgements"]
    del counts["judgements"]
    assert counts == {
        "turns": 1, "attempts": turn.attempts, "continuations": turn.continuations, "errors": 0, "runs": 1,
    }  # fmt: skip


def test_tokens_equal_those_of_the_turn(play):
    turn = play("sim-essay", max_tokens=120)
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(input_tokens), sum(output_tokens) FROM whystop.attempts")
        assert cursor.fetchone() == (turn.input_tokens, turn.output_tokens)
    assert Turn.objects.count() == 1
