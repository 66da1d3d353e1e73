"""Stored turns made such as a newer core, another house or a broken disk would leave them."""

from collections.abc import Callable, Mapping
from uuid import UUID

from django.db import connection, transaction

from dashboard.timeline.erase_flag import erasing
from dashboard.turns.models import Record, Turn

FUTURE = {"type": "from_the_future", "at": 1}
ELSEWHERE = {"level": "site", "of": "", "policy": "theirs", "version": 1, "version_id": str(UUID(int=1))}


def event_unknown(turn: Turn) -> None:
    """Its first record is of a type that this core does not know."""
    first = Record.objects.get(turn_id=turn.id, seq=1)
    with transaction.atomic(), erasing(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM turns_record WHERE turn_id = %s AND seq = 1", [turn.id])
    first.event, first.packed = FUTURE, None
    first.save(force_insert=True)


def record_lost(turn: Turn) -> None:
    """Its second record is not there."""
    with transaction.atomic(), erasing(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM turns_record WHERE turn_id = %s AND seq = 2", [turn.id])


def policy_unknown(turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(policy={"limits": {"from_the_future": 1}})


def base_unknown(turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(base_snapshot={"from_the_future": 1})


def words_elsewhere(turn: Turn) -> None:
    """It ran under a version that is not here; that is asked for only where a draft stands among the words."""
    Turn.objects.filter(pk=turn.pk).update(policy_sources={"layers": [ELSEWHERE], "fields": {}})


DAMAGES: Mapping[str, Callable[[Turn], None]] = {
    damage.__name__: damage for damage in (event_unknown, record_lost, policy_unknown, base_unknown, words_elsewhere)
}
