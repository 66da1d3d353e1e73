"""Verifies every seal, chain and turn, and names each fault.

Finds what stored JSON texts hold beside the values that are read: a name twice, or blanks between the values.

The chain has the values. A reader takes the last of two values of one name, and passes over blanks, so whoever adds
such changes no value.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection
from django.db.models import Model, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from agentcore.version import VERSION
from dashboard.accounts.audit.models import Entry
from dashboard.platform.ids import made_at
from dashboard.tools.models import TurnDocument
from dashboard.turns import models as turns
from dashboard.turns.derived_rows import StoredTurn, stored_turns
from dashboard.turns.history import sha256_of
from dashboard.turns.models import UNFINISHED, Attempt, Record, Turn
from dashboard.turns.record_compression import PACKED, lines_of
from dashboard.turns.seals import columns, keys, models
from dashboard.turns.seals.audit_seals import AuditChecked, audit_check
from dashboard.turns.seals.chain_check import chain_faults, stray_faults
from dashboard.turns.seals.chains import parts_of
from dashboard.turns.seals.models import Chain, Seal
from dashboard.turns.seals.parts import Part
from dashboard.turns.seals.row_parts import origin_tables
from dashboard.turns.seals.sealed_turns import Sealed
from dashboard.turns.seals.signed_lists import is_ours
from dashboard.turns.seals.tombstones import removed_on_purpose
from dashboard.turns.shared_values import UNREADABLE, exact_text
from dashboard.turns.verification import examined

_TEXTS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')  # possessive: else each letter takes a hundred bytes
_BLANK = re.compile(rb"\s")


def is_fully_read(text: bytes) -> bool:
    """Whether a JSON text has each name once and no blanks. Raises `ValueError` where it is none."""
    if exact_text(json.loads(text)) == text:  # as nearly all are written
        return True
    try:
        json.loads(text, object_pairs_hook=_once)
    except LookupError:
        return False
    return not _BLANK.search(_TEXTS.sub(b"", text))


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise LookupError
    return found


def unread_faults(turn_ids: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    """The records and requests of these turns that hold more than is read. What is not JSON the chain finds."""
    rows = Record.objects.filter(turn_id__in=turn_ids).exclude(packed=None).order_by("turn_id", "seq")
    for turn_id, seq, length, content in rows.values_list("turn_id", "seq", "length", "packed").iterator():
        with suppress(*UNREADABLE):
            lines = [line for each, _ in lines_of(content or b"", length) for line in each]
            if wrong := [n for n, line in enumerate(lines) if not is_fully_read(line)]:
                yield turn_id, f"Record {seq + wrong[0] // len(PACKED)} contains more than this version reads."
    attempts = Attempt.objects.filter(turn_id__in=turn_ids).order_by("turn_id", "index")
    told = attempts.values_list("turn_id", "index", Cast("request", TextField()))
    for turn_id, index, request in told.iterator():
        with suppress(*UNREADABLE):
            if not is_fully_read(request.encode()):
                yield turn_id, f"The request of attempt {index} contains more than this version reads."


BATCH = 100
LATE = timedelta(minutes=15)  #: that the last words of a turn may take to be stored
#: The keys that hold, also in each partition of a table.
_KEPT = """
SELECT relation.relname FROM pg_index held JOIN pg_class relation ON relation.oid = held.indrelid
 WHERE held.indisprimary AND held.indisunique AND held.indisvalid AND held.indisready AND held.indislive
   AND held.indimmediate
"""
_PARTS = """
SELECT parent.relname, part.relname FROM pg_inherits
  JOIN pg_class parent ON parent.oid = inhparent JOIN pg_class part ON part.oid = inhrelid
 WHERE parent.relname = ANY(%s)
"""


@dataclass(slots=True)
class Checked:
    """What was looked at. `faults`: what is wrong, by turn (or `seal 3`), each in a sentence. `changed`: turns of an
    earlier version of the core, which this version judges otherwise; nobody changed them."""

    turns: int = 0
    seals: int = 0
    sealed: int = 0
    erased: int = 0
    unchained: int = 0
    audit: AuditChecked = field(default_factory=AuditChecked)
    faults: list[tuple[str, str]] = field(default_factory=list)
    changed: list[tuple[str, str]] = field(default_factory=list)


def check_all(
    *,
    expected: str = "",
    replay: bool = True,
    begun: Checked | None = None,
    after: UUID | None = None,
    on_batch: Callable[[Checked, UUID], None] = lambda _checked, _last: None,
) -> Checked:
    """Check everything. `expected`: a seal's digest that was noted elsewhere; `replay`: judge each history again.

    `begun` and `after`: what an earlier check had found of turns, up to this one. `on_batch` is given what is found so
    far, and the last turn of it, after each batch of turns.
    """
    checked = begun or Checked()
    erased, bared, forged = removed_on_purpose()
    sealed = Sealed(erased)
    checked.faults += [*key_faults(), *sealed.read_on(), *sealed.cut_off(expected)]
    checked.faults += [("tombstone", words) for words in forged]
    checked.seals, checked.sealed, checked.erased = sealed.last, len(sealed.numbers), len(erased)
    for ids in batches(_ids(after), BATCH):
        check_turns(ids, checked, sealed, bared, replay=replay)
        on_batch(checked, ids[-1])
    _gone(checked, sealed)
    checked.faults += stray_faults(sealed)
    checked.audit = audit_check(timezone.now())
    checked.faults += checked.audit.faults
    return checked


def turn_faults(turn: Turn) -> list[str]:
    """What of one turn is not as it was chained and sealed, without a look at any other turn or at all seals."""
    chain = Chain.objects.filter(turn_id=turn.id).first()
    if chain is not None and chain.seal is not None:
        seals = Seal.objects.filter(number=chain.seal)
    else:  # whoever makes a chain again, or removes it, leaves the seal that holds the turn
        later = Seal.objects.filter(made_at__gte=_earliest(turn))
        seals = later.extra(where=["position(%s IN members) > 0"], params=[turn.id.bytes])
    erased, bared, _ = removed_on_purpose(turn.id)
    sealed, again = Sealed(erased), []
    for seal in seals.order_by("number"):
        if not is_ours(seal, keys.own_keys()):
            return [f"Seal {seal.number}, which contains it, was changed."]
        again += [words for place, words in sealed.take(seal) if place == str(turn.id)]
    sealed.let_go_of_erased()
    if chain is not None and chain.seal is None and sealed.heads:  # the seal may have been made just now
        chain = Chain.objects.filter(turn_id=turn.id).first()
    now = parts_of([turn])[turn.id]
    return [*again, *chain_faults(turn, chain, now, sealed, bared), *_compared_faults(turn, bared, StoredTurn(turn))]


def _earliest(turn: Turn) -> datetime:
    """Before this no seal can hold the turn. Its row says what the owner of the database lets it say; its id tells when
    it was made, and is what a seal holds. One that does not tell may be in any seal."""
    made = made_at(turn.id)
    return min(turn.created_at, made) if made else datetime.min.replace(tzinfo=UTC)


def _ids(after: UUID | None) -> Iterator[UUID]:
    turns = Turn.objects.order_by("id")
    found = turns if after is None else turns.filter(id__gt=after)
    return found.values_list("id", flat=True).iterator()


def check_turns(
    ids: Sequence[UUID], checked: Checked, sealed: Sealed, bared: frozenset[UUID], *, replay: bool = True
) -> None:
    """Compare these turns with their chains and with what the seals hold of them; what is found is added to `checked`.
    `bared`: turns whose raw responses were removed on purpose."""
    turns = list(Turn.objects.filter(id__in=ids).select_related("origin", "ingested").order_by("id"))
    chains, parts, known = Chain.objects.in_bulk(ids), _parts(turns), stored_turns(turns)
    if any(chain.seal is not None and chain.seal > sealed.last for chain in chains.values()):  # made while we check
        checked.faults += sealed.read_on()
        checked.seals, checked.sealed = sealed.last, len(sealed.numbers)
        chains = Chain.objects.in_bulk(ids)
    twice = dict(unread_faults([turn.id for turn in turns if turn.status not in UNFINISHED])) if replay else {}
    for turn in turns:
        checked.turns += 1
        chain = chains.get(turn.id)
        if chain is None and turn.id not in sealed.heads:
            checked.unchained += turn.status not in UNFINISHED
        changed: list[str] = []
        try:
            now = parts[turn.id] if turn.id in parts else parts_of([turn])[turn.id]
            faults = [*chain_faults(turn, chain, now, sealed, bared)]
            if not faults and turn.status not in UNFINISHED:
                stored = known.pop(turn.id)  # what it reads goes with the turn
                faults += [*_other_faults(turn, sealed, bared, stored), *([twice[turn.id]] if turn.id in twice else [])]
                changed += _replay_faults(turn, stored) if replay else ()
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:  # whoever changes rows may leave what cannot be read any more
            faults = [f"It can no longer be read: it was changed or damaged ({type(error).__name__})."]
        otherwise = checked.faults if turn.core_version == VERSION else checked.changed
        otherwise += [(str(turn.id), words) for words in changed]
        checked.faults += [(str(turn.id), words) for words in faults]


def _parts(turns: list[Turn]) -> dict[UUID, list[Part]]:
    """The parts of these turns; nothing where one of them cannot be read, so that each is read by itself."""
    try:
        return parts_of(turns)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        return {}


def _other_faults(turn: Turn, sealed: Sealed, bared: frozenset[UUID], stored: StoredTurn) -> Iterator[str]:
    number = sealed.numbers.get(turn.id, max(sealed.complete, default=0) + 1)
    earlier = [at for n, at in sealed.complete.items() if n < number]
    origin, ingested = getattr(turn, "origin", None), getattr(turn, "ingested", None)
    came = origin.imported_at if origin is not None else turn.finished_at
    came = ingested.ingested_at if ingested is not None else came
    if earlier and came is not None and came + LATE < max(earlier):
        yield f"It was added out of order: it ended before seal {number - 1} was made, which does not contain it."
    yield from _compared_faults(turn, bared, stored)


def _replay_faults(turn: Turn, stored: StoredTurn) -> Iterator[str]:
    origin = getattr(turn, "origin", None)
    found = examined(turn, stored.recording, stored)
    if not found.verified and not (origin is not None and origin.speaks_against):
        error = (found.divergence.replayed or {}).get("error", "") if found.divergence else ""
        yield f"It does not replay: {error or 'its events give another history'}."


def _compared_faults(turn: Turn, bared: frozenset[UUID], stored: StoredTurn) -> Iterator[str]:
    """What is not chained as it is stored, compared with what is."""
    if (turn.raw_removed_at is not None) != (turn.id in bared):
        yield "Its row and the signed notes differ on whether the provider's bytes were removed."
    for attempt in stored.attempts:
        if sha256_of(stored.body_of(attempt)) != attempt.request_sha256:
            yield f"The request of attempt {attempt.index} is not the one that was sent."


def _gone(checked: Checked, sealed: Sealed) -> None:
    for ids in batches(sorted(sealed.heads), 1000):
        here = set(Turn.objects.filter(id__in=ids).values_list("id", flat=True))
        for turn_id in ids:
            if turn_id not in here:
                words = f"It was removed: seal {sealed.numbers[turn_id]} contains it, but no erasure is recorded here."
                checked.faults.append((str(turn_id), words))


def batches(ids: Iterable[UUID], size: int) -> Iterator[list[UUID]]:
    """So many at a time."""
    left = iter(ids)
    while batch := list(islice(left, size)):
        yield batch


def evidence_tables() -> tuple[type[Model], ...]:
    """Every table whose rows are evidence."""
    origins, seals = origin_tables.value, (models.Chain, models.Seal, models.AuditSeal, models.Tombstone)
    of_turns = (*columns.CHAINED, *columns.COMPARED, turns.LooseNode, origins.origin, origins.ingested)
    return tuple(dict.fromkeys((*of_turns, TurnDocument, *seals, Entry)))


def key_faults() -> Iterator[tuple[str, str]]:
    """The tables of evidence whose primary key, by which no row can be there twice, was removed."""
    names = [table._meta.db_table for table in evidence_tables()]
    with connection.cursor() as cursor:
        cursor.execute(_KEPT)
        kept = {name for (name,) in cursor.fetchall()}
        cursor.execute(_PARTS, [names])
        parts = cursor.fetchall()
    for name in [*names, *(part for _, part in parts)]:
        if name not in kept:
            yield f"table {name}", "Its primary key was removed, so that rows may be there twice."
