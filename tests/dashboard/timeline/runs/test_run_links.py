"""Turns that were stored out of order, or before there were runs, are found to be of a run all the same."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from dashboard.agents.selectors import project_default
from dashboard.timeline.runs import run_links
from dashboard.turns.models import Turn

pytestmark = pytest.mark.django_db
BEGINNING = UUID(int=0)


def turn(n=0, *, answered=None, history=(), **more):
    """A turn with these keys, made `n` after the others."""
    keys = [UUID(int=key) for key in history] or None
    made = Turn(project=project_default(), max_tokens=9, history_keys=keys, **more)
    made.answered_key = None if answered is None else UUID(int=answered)
    made.id = UUID(int=made.id.int + n)
    made.save(force_insert=True)
    return made


def now(*turns):
    for each in turns:
        each.refresh_from_db()
    return [each.run for each in turns]


def test_a_call_stored_before_its_predecessor_is_linked_with_all_its_successors():
    first = turn()
    later = turn(answered=2, history=[1])
    last = turn(history=[2, 1], run_id=later.id, follows=later.id)
    assert run_links.sweep(timedelta(seconds=15)) == 0
    Turn.objects.filter(id=first.id).update(answered_key=UUID(int=1))
    assert run_links.sweep(timedelta(seconds=15)) == 1
    assert now(first, later, last) == [first.id] * 3
    assert (later.follows, last.follows) == (first.id, later.id)


def test_calls_stored_in_reverse_order_end_in_one_run():
    made = [turn(history=[n] if n else (), answered=n + 1) for n in range(6)]
    assert run_links.sweep(timedelta(seconds=15)) == 5
    assert set(now(*made)) == {made[0].id}


def test_linked_calls_and_calls_without_a_predecessor_are_left_alone():
    turn(answered=1)
    linked, alone = turn(history=[1], follows=BEGINNING, run_id=BEGINNING), turn(history=[7])
    assert run_links.sweep(timedelta(seconds=15)) == 0
    assert now(linked, alone) == [BEGINNING, alone.id]


def many_like(model):
    """So many that the planner would rather read all turns than ask for each of a few."""
    own = {"id": "gen_random_uuid()"}
    columns = [field.column for field in Turn._meta.concrete_fields if not field.generated]
    values = ", ".join(own.get(column, column) for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO turns_turn ({', '.join(columns)}) SELECT {values} FROM turns_turn, generate_series(1, 5000) "
            "WHERE id = %s",
            [model.id],
        )
        cursor.execute("ANALYZE turns_turn")


@pytest.mark.parametrize("follows", [None, BEGINNING], ids=["begun", "gone on from one call"])
def test_only_a_few_of_many_turns_with_one_key_are_read(follows):
    many_like(turn(answered=1, follows=follows))
    later = turn(history=[1])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {run_links.LINK}", {"turn": later.id})
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert not [word for word in ("Seq Scan", "hashed", "Bitmap") if word in plan], plan


def test_no_call_continues_a_later_one():
    later = turn(n=2**90, answered=1)
    asked = turn(history=[1])
    assert run_links.sweep(timedelta(seconds=15)) == 0
    assert now(asked, later) == [asked.id, later.id]


def test_older_reruns_are_placed_beside_their_parents():
    first, second = turn(), turn()
    Turn.objects.filter(id=second.id).update(run_id=first.id, follows=first.id)
    child = turn(parent=second)
    grandchild = turn(parent=child)
    list(run_links.link_stored(BEGINNING))
    assert now(child, grandchild) == [first.id] * 2
    assert (child.follows, grandchild.follows) == (first.id, first.id)


def test_the_command_explains_a_wrong_position(capsys):
    call_command("find_runs")
    assert capsys.readouterr().out == "Done: 0 calls continue another.\n"
    with pytest.raises(CommandError, match="must be the id of a turn"):
        call_command("find_runs", after="x")
