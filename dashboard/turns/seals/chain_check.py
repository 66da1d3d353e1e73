"""Compares the chain of one turn with its seal, and with what is stored of the turn."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.db import connection

from dashboard.turns.models import Turn
from dashboard.turns.seals.chains import head_of
from dashboard.turns.seals.models import Chain
from dashboard.turns.seals.parts import ADDED, BYTES, LINK, SINCE, WHEN, Part, moment_part, packed, unpacked
from dashboard.turns.seals.row_parts import is_cut_by_removal
from dashboard.turns.seals.sealed_turns import Faults, Sealed
from dashboard.turns.seals.services import CLOCKS_APART


def chain_faults(
    turn: Turn, chain: Chain | None, now: list[Part], sealed: Sealed, bared: frozenset[UUID]
) -> Iterator[str]:
    """`now`: the parts of the turn as it is stored; `bared`: turns whose bytes were removed on purpose."""
    if chain is None:
        if turn.id in sealed.heads:
            yield "Its chain was removed."
        return
    then = unpacked(bytes(chain.parts))
    yield from _row_faults(chain, then, sealed)
    if words := differing(then, now, bytes_removed=turn.id in bared):
        yield words


def _row_faults(chain: Chain, then: list[Part], sealed: Sealed) -> Iterator[str]:
    """What is wrong with the row of the chain itself."""
    head, number = sealed.heads.get(chain.turn_id), sealed.numbers.get(chain.turn_id)
    if head_of(chain.turn_id, then) != bytes(chain.head) or packed(then) != bytes(chain.parts):
        yield "Its chain was changed."
    elif head is not None and bytes(chain.head) != head:
        yield f"It was changed after seal {number}, and its chain was made again."
    elif head is not None and chain.seal != number:
        yield f"Its chain names {f'seal {chain.seal}' if chain.seal else 'no seal'}, but seal {number} contains it."
    elif head is None and chain.seal is not None:
        yield f"Its chain names seal {chain.seal}, which does not contain it."
    moments = [part for part in then if part.kind == WHEN]
    if moments and moments != [moment_part(chain.chained_at)]:
        yield "The time at which it was chained was changed."
    elif number and head is not None and not moments and chain.chained_at > _latest(sealed, number):
        yield f"Its chain has a time after that of seal {number}, which contains it."


def _latest(sealed: Sealed, number: int) -> datetime:
    """When a chain that this seal holds was made at the latest.

    Earlier releases dated a seal to the start of its sweep, in which chains were made.
    """
    return sealed.made[number] + CLOCKS_APART


def differing(then: list[Part], now: list[Part], *, bytes_removed: bool = False) -> str:
    """What of a turn is not as it was chained, in words; empty where all is."""
    before, after = {(p.kind, p.number): p for p in then if p.kind != WHEN}, {(p.kind, p.number): p for p in now}
    for mark, kinds in SINCE:
        if (mark, 0) not in before:  # an earlier release chained less
            after = {key: part for key, part in after.items() if part.kind not in kinds}
    changed = [part.name for key, part in before.items() if key in after and after[key].digest != part.digest]
    removed = [
        part.name for key, part in before.items() if key not in after and not _may_go(part, bytes_removed=bytes_removed)
    ]
    added = [part.name for key, part in after.items() if key not in before and part.kind not in ADDED]
    twice = [part.name for part, times in Counter(now).items() if times > 1]
    words = {"changed": changed, "removed": removed, "added": added, "stored twice": twice}
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in words.items() if names)


def _may_go(part: Part, *, bytes_removed: bool) -> bool:
    return (bytes_removed and part.kind in BYTES) or (part.kind == LINK and is_cut_by_removal(part))


_OF_NO_TURN = """
SELECT chain.turn_id FROM sealing_chain chain
 WHERE NOT EXISTS (SELECT 1 FROM turns_turn turn WHERE turn.id = chain.turn_id) ORDER BY chain.turn_id
"""


def stray_faults(sealed: Sealed) -> Faults:
    """Chains of turns that are not stored. Those that a seal holds are named as removed turns."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_NO_TURN)
        for (turn_id,) in cursor.fetchall():
            if turn_id not in sealed.heads:
                yield str(turn_id), "It has a chain, and is not stored."
