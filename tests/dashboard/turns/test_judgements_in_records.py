"""Judgements of a database from before they stood in the rows of their records."""

from importlib import import_module
from itertools import islice

import pytest
from django.db import IntegrityError, connection, transaction

from dashboard.replay.services import turn_verify
from dashboard.turns.models import Outcome, Record, StrayOutcome
from tests.dashboard.driving import Play
from tests.dashboard.turns.earlier_releases import judged_as_before

MIGRATION = import_module("dashboard.turns.migrations.0026_judgements_in_records")
ranges = MIGRATION.ranges
pytestmark = pytest.mark.django_db(transaction=True)


def carry_over() -> None:
    with connection.schema_editor(atomic=False) as editor:
        MIGRATION.carry_over(None, editor)


def test_judgements_are_migrated_in_ranges_and_every_turn_verifies_before_and_after(play: Play, monkeypatch):
    monkeypatch.setattr(MIGRATION, "RANGE", 2)
    turns = [play("truncated-3"), play("sim-tools"), play("sim-essay", max_tokens=60)]
    told = list(Outcome.objects.values())
    judged_as_before(*turns)
    assert len(told) == StrayOutcome.objects.count() > 2 * MIGRATION.RANGE
    assert list(Outcome.objects.values()) == told
    assert all(turn_verify(turn=turn).verified for turn in turns)
    carry_over()
    assert not StrayOutcome.objects.exists()
    assert list(Outcome.objects.values()) == told
    assert all(turn_verify(turn=turn).verified for turn in turns)


def test_an_interrupted_migration_continues_and_history_is_protected_again(play: Play, monkeypatch):
    monkeypatch.setattr(MIGRATION, "RANGE", 1)
    turns = play("sim-essay", max_tokens=60), play("sim-script")
    told = list(Outcome.objects.values())
    judged_as_before(*turns)
    with monkeypatch.context() as ended:
        ended.setattr(MIGRATION, "ranges", lambda cursor: islice(ranges(cursor), 1))
        carry_over()
    assert 0 < StrayOutcome.objects.count() < len(told)
    assert list(Outcome.objects.values()) == told
    carry_over()
    assert (StrayOutcome.objects.count(), list(Outcome.objects.values())) == (0, told)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(MIGRATION.ALLOWED)
        with pytest.raises(IntegrityError, match="append-only: UPDATE was refused"), transaction.atomic():
            Record.objects.update(judged=None)


def test_the_migration_can_be_reversed(play: Play):
    turn = play("sim-essay", max_tokens=60)
    told = list(Outcome.objects.values())
    with connection.cursor() as cursor:
        cursor.execute(MIGRATION.BACK)
    assert list(StrayOutcome.objects.filter(turn_id=turn.id).values()) == told
