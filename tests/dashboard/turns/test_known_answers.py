"""Answers of criteria take few bytes in the rows of judgements, and are read as they were given: here and in SQL."""

import hashlib
import json
from importlib import import_module
from pathlib import Path

import pytest
from django.db import connection

from agentcore.messages import NO_CAP
from dashboard.platform.ids import new_id
from dashboard.turns import known_answers
from dashboard.turns.known_answers import LINES, stored, told
from dashboard.turns.models import Outcome
from dashboard.turns.sql_views.view_installer import install
from tests.agentcore.playbook import Playbook, started, truncated
from tests.dashboard.driving import Play
from tests.dashboard.gateway.told_turns import ODD
from tests.together import together

STEPS = {"criterion": "StepsLimit", "decision": "allow", "reason": "1 of 20 iterations"}
KNOWN = STEPS | {"context": {"used": 1, "limit": 20}}
JUDGES = ("TruncationCriterion", "EnvelopeCriterion")
OTHERS = [
    KNOWN | {"reason": "1 of 20 iterations; 5 %"},
    KNOWN | {"message": "more"},
    KNOWN | {"context": {"used": 1.0e-7, "limit": 20}},
    KNOWN | {"context": {"used": -1, "limit": 20}},
    KNOWN | {"reason": ODD},
    KNOWN | {"reason": "x" * 2_000},
    {"criterion": "Mine", "decision": "allow", "reason": "3 20 1 1 20", "context": {}},
]
#: Never others: rows refer to lines by their numbers. A migration adds what is added (`0025_known_answers`).
FIRST = "a06b8317e38ab9bb8a090f5f24a3513cc61c945a79fa20c8e0fbdb69cf03d3f4"


@together
@pytest.mark.parametrize("line", LINES)
def test_each_line_is_an_answer_stored_as_its_number_and_values(line: str):
    numbers = [str(n + 0.5) for n in range(line.count("%s"))]
    answer = json.loads(line % tuple(numbers))
    (held,) = stored([answer])
    assert held == " ".join([str(LINES.index(line) + 1), *numbers])
    assert told(held) == answer


@pytest.mark.django_db
def test_the_database_reads_each_line_like_the_code():
    held = [" ".join([str(n), *map(str, range(line.count("%s")))]) for n, line in enumerate(LINES, start=1)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT whystop_answer(to_jsonb(held)) FROM unnest(%s::text[]) held", [held])
        assert [json.loads(answer) for (answer,) in cursor.fetchall()] == [told(each) for each in held]


@pytest.mark.parametrize("answer", OTHERS)
def test_all_other_answers_are_stored_unchanged(answer: dict[str, object]):
    assert stored([answer]) == [answer]
    assert told(answer) is answer


def uncapped(*moves, **asked):
    story = Playbook(max_tokens=16_384, extra={"uncapped": NO_CAP}, **asked) >> started()
    for move in moves:
        story = story >> move
    return story


UNCAPPED = [
    uncapped(*[truncated("a ")] * 4),
    uncapped(*[truncated("a ", tokens=None)] * 4),
    uncapped(truncated("a "), truncated("a "), max_total_completion_tokens=15),
    uncapped(truncated("a "), max_total_tokens=15),
    uncapped(truncated("a" * 90), max_total_output_chars=90),
    uncapped(truncated("a "), truncated(""), truncated(""), ceiling=99_999),
    uncapped(truncated("{"), envelope_schema={"type": "object"}),
]


@pytest.mark.parametrize("story", UNCAPPED)
def test_answers_about_calls_without_a_cap_take_few_bytes_too(story: Playbook):
    outcomes = [one.outcome.to_dict() for step in story.steps for one in step.transitions if one.outcome]
    told_of = [each for said in outcomes for each in said["evaluations"] if each["criterion"] in JUDGES]
    assert any(each["decision"] == "forbid" for each in told_of)
    assert [held for held in stored(told_of) if not isinstance(held, str)] == []


@pytest.mark.parametrize("held", ["", "0", "x", "-1", "9999", "3 20 1", "1 5", "²"])
def test_a_text_that_represents_no_answer_is_refused(held: str):
    with pytest.raises(LookupError):
        told(held)


def test_lines_are_append_only_and_known_to_the_database():
    assert hashlib.sha256("\n".join(LINES[:82]).encode()).hexdigest() == FIRST
    assert len(LINES) == import_module("dashboard.turns.migrations.0035_answers_without_limits").LINES
    assert Path(known_answers.__file__).with_name("known_answers.txt").read_text().count("\n") == len(LINES)


@pytest.mark.django_db
def test_rows_of_older_releases_are_read_unchanged():
    turn_id = new_id()
    values = [turn_id, json.dumps([KNOWN, "3 20 1 1 20"]), turn_id, json.dumps(["9999", KNOWN])]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO turns_outcome (turn_id, seq, position, state, decision, resolved_by, stop_reason, evaluations)"
            " VALUES (%s, 1, 0, '', '', '', '', %s), (%s, 2, 0, '', '', '', '', %s)",
            values,
        )
    assert Outcome.objects.get(seq=1).evaluations == [KNOWN, KNOWN]
    assert Outcome.objects.get(seq=2).evaluations == ["9999", KNOWN], "what cannot be read stays"


@pytest.mark.django_db(transaction=True)
def test_a_turn_s_judgements_are_stored_in_few_bytes_and_returned_in_full(play: Play):
    turn = play("truncated-3")
    install()
    judged = list(Outcome.objects.filter(turn_id=turn.id).order_by("seq", "position"))
    told_here = [(said["criterion"], said["reason"]) for outcome in judged for said in outcome.evaluations]
    assert ("StepsLimit", "1 of 20 iterations") in told_here
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT criterion, reason FROM whystop.criteria WHERE turn_id = %s ORDER BY seq, position, n", [turn.id]
        )
        assert cursor.fetchall() == told_here
        cursor.execute("SELECT max(pg_column_size(judged)) FROM turns_record")
        assert cursor.fetchone()[0] < 250, "the words of a criterion have changed: add lines (known_answers.txt)"
