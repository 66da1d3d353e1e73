"""Writes: chains of turns that have ended, and the seals over them. The recorder does nothing for it.

Chains are made beside the recorder, by the worker, in short batches: of new turns some seconds after they have ended,
of turns from before there were chains in what time is left. It can be ended at any point and goes on where it was.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.utils import timezone

from dashboard.platform.ids import first_id_at
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.seals import audit_seals, keys
from dashboard.turns.seals.chains import head_of, parts_of
from dashboard.turns.seals.models import Chain, Seal, Tombstone
from dashboard.turns.seals.parts import moment_part, packed
from dashboard.turns.seals.signed_lists import alone, is_ours, sign

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 10.0
BUDGET_SECONDS = 0.5  #: of one sweep: one twentieth of one core at most
BATCH = 20  #: turns of one transaction
RECENT = timedelta(minutes=30)  #: of new turns, which are looked through in each sweep
SEAL_EVERY = timedelta(hours=1)
SEAL_LATEST = timedelta(days=1)  #: after which a seal is made also while turns wait for their chains
CLOCKS_APART = timedelta(minutes=1)  #: of processes; a chain from further ahead is not what it says
MOST_MEMBERS = 50_000  #: turns of one seal

UNCHAINED = """
SELECT id FROM turns_turn turn
 WHERE id >= %(since)s AND status <> ALL(%(unfinished)s)
   AND NOT EXISTS (SELECT 1 FROM sealing_chain chain WHERE chain.turn_id = turn.id)
 ORDER BY id LIMIT %(limit)s
"""


def sweep() -> int:
    """Chain what has ended lately and make a seal when one is due, for which older turns are chained too; returns how
    many chains were made. The audit log has seals of its own."""
    until, now = time.monotonic() + BUDGET_SECONDS, timezone.now()
    made = _chain_until(until, first_id_at(now - RECENT))
    if _is_time(now):
        made += _chain_until(until, UUID(int=0))
        if _is_due(now):
            seal_make(now=timezone.now())
    audit_seals.sweep(now)
    return made


def _chain_until(until: float, since: UUID) -> int:
    made = 0
    while time.monotonic() < until and (done := chain_some(since)):
        made += done
    return made


@transaction.atomic
def chain_some(since: UUID = UUID(int=0), limit: int = BATCH) -> int:
    """Chain some turns that have ended and have no chain yet; returns how many."""
    if not alone():
        return 0
    with connection.cursor() as cursor:
        cursor.execute(UNCHAINED, {"since": since, "unfinished": list(UNFINISHED), "limit": limit})
        ids = [turn_id for (turn_id,) in cursor.fetchall()]
    turns = list(Turn.objects.filter(id__in=ids).exclude(status__in=UNFINISHED).select_for_update(no_key=True))
    now = timezone.now()
    chained = {turn_id: [*said, moment_part(now)] for turn_id, said in parts_of(turns).items()}
    Chain.objects.bulk_create(
        Chain(turn_id=turn_id, parts=packed(said), head=head_of(turn_id, said), chained_at=now)
        for turn_id, said in chained.items()
    )
    return len(turns)


@transaction.atomic
def seal_make(*, now: datetime) -> Seal | None:
    """Seal the chains that no seal holds yet; also where there are none, so that each day has its seal.

    The seal is later than each of its chains and each erasure, also those of other processes: of a turn that was erased
    and written anew, that tells which seals bind it.
    """
    if not alone():
        return None
    _notice_lost()
    last = Seal.objects.order_by("-number").first()
    # Held, so that none is erased before this seal is made.
    chains = list(Chain.objects.filter(seal=None).order_by("turn_id").select_for_update()[: MOST_MEMBERS + 1])
    complete = len(chains) <= MOST_MEMBERS and not _unchained()
    chains = chains[:MOST_MEMBERS]
    seal = Seal(
        number=last.number + 1 if last else 1,
        made_at=min(now + CLOCKS_APART, max([now, *(chain.chained_at for chain in chains), *_after_erasure()])),
        complete_at=now if complete else None,
        previous=last.digest if last else "",
        members=b"".join(chain.turn_id.bytes + bytes(chain.head) for chain in chains),
    )
    sign(seal)
    Chain.objects.filter(turn_id__in=[chain.turn_id for chain in chains]).update(seal=seal.number)
    transaction.on_commit(lambda: _told(seal, len(chains)))
    return seal


def _after_erasure() -> list[datetime]:
    """The moment after the last erasure, which may be noted ahead of this clock."""
    noted = Tombstone.objects.filter(kind=Tombstone.Kind.ERASED).order_by("-at").values_list("at", flat=True)
    return [at + timedelta(microseconds=1) for at in noted[:1]]


def _notice_lost() -> None:
    """Whoever removes seals must not get the next one to hide it: that would be remembered in their place."""
    remembered = keys.remembered_head()
    if remembered is None:
        return
    number, digest = remembered
    kept = Seal.objects.filter(number=number, digest=digest).first()
    if kept is None or not is_ours(kept, keys.own_keys()):
        keys.note_lost(number, digest)
        log.error("seal_lost", number=number, digest=digest)


def _told(seal: Seal, turns: int) -> None:
    """Outside of the database, where its superuser cannot take it back."""
    keys.remember_head(seal.number, seal.digest)
    log.info("sealed", number=seal.number, digest=seal.digest, turns=turns)


def _last_made() -> datetime | None:
    return Seal.objects.order_by("-number").values_list("made_at", flat=True).first()


def _is_time(now: datetime) -> bool:
    """Whether the last seal is so old that another is wanted."""
    last = _last_made()
    return last is None or now - last >= SEAL_EVERY


def _is_due(now: datetime) -> bool:
    """Whether it is made now: once all turns have chains, or at the latest; where nothing is new, once a day."""
    last = _last_made()
    if last is not None and now - last >= SEAL_LATEST:
        return True
    return Chain.objects.filter(seal=None).exists() and not _unchained()


def _unchained() -> Sequence[UUID]:
    """The first turn that has ended and has no chain; none where all have one."""
    with connection.cursor() as cursor:
        cursor.execute(UNCHAINED, {"since": UUID(int=0), "unfinished": list(UNFINISHED), "limit": 1})
        return [turn_id for (turn_id,) in cursor.fetchall()]
