"""What a superuser of the database does to sealed turns, and what a check then says."""

from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from dashboard.turns.compression import packed as packed_node
from dashboard.turns.models import Turn
from dashboard.turns.seals import services
from dashboard.turns.seals.chains import head_of, parts_of
from dashboard.turns.seals.models import Chain, Seal
from dashboard.turns.seals.parts import packed
from dashboard.turns.seals.seal_check import Checked, check_all


def seal() -> Seal:
    while services.chain_some():
        pass
    made = services.seal_make(now=timezone.now())
    assert made is not None
    return made


def as_superuser(sql: str, *values: Any, there: bool = True) -> None:
    """Past every trigger, as only a superuser of the database gets. `there`: some row must be changed by it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        cursor.execute(sql, values)
        assert cursor.rowcount or not there


def faults(checked: Checked | None = None) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, words in (checked or check_all()).faults:
        found[place] = f"{found[place]} {words}" if place in found else words
    return found


def chained_again(turn: Turn) -> None:
    """What a superuser does who has read how chains are made."""
    turn.refresh_from_db()
    parts = parts_of([turn])[turn.id]
    Chain.objects.filter(turn_id=turn.id).update(parts=packed(parts), head=head_of(turn.id, parts))


FORGED = packed_node(b'{"type": "from_nowhere"}\n{}\n[]')
CHANGES = {
    "record 1": "UPDATE turns_record SET packed = 'broken' WHERE turn_id = %s AND seq = 1",
    "record 2": f"UPDATE turns_record SET packed = '\\x{FORGED.hex()}' WHERE turn_id = %s AND seq = 2",
    "attempt 1": "UPDATE turns_attempt SET text = 'I never said this.' WHERE turn_id = %s",
    "provider's bytes of attempt 1": "UPDATE turns_attemptchunk SET raw = 'x' || raw WHERE turn_id = %s",
    "turn": "UPDATE turns_turn SET error_message = 'It never failed so.' WHERE id = %s",
    "turn, attempt 1": "UPDATE turns_turn SET output_text = 'I never said this.' WHERE id = %s",  # its last answer
}
