"""Seals over the audit log: signed lists of its rows, each with the digest of the seal before.

A row is sealed some minutes after it was written, in the order of `at`, and never changes after that. So what is
missing, changed or added up to the end of the last seal was not done by Whystop.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import models, transaction

from dashboard.accounts.audit.models import Entry
from dashboard.platform.ids import first_id_at
from dashboard.turns.seals import keys
from dashboard.turns.seals.models import AuditSeal
from dashboard.turns.seals.parts import canonical
from dashboard.turns.seals.sealing_lock import alone

log = structlog.get_logger(__name__)

SEAL_EVERY = timedelta(hours=1)  #: in which something was done
SEAL_LATEST = timedelta(days=1)
LATE = timedelta(minutes=15)  #: in which a row may still be stored by a process whose clock is behind
APART = timedelta(days=1)  #: of a row's id, which is of the beginning of its request, and its end
MOST_ROWS = 50_000  #: of one seal
#: Of a row, all of them. One that is added later needs a list of its own: earlier seals are of these.
COLUMNS = (
    "id", "began_at", "at", "by", "via", "address", "method", "action", "target", "status", "led_to", "project_id",
)  # fmt: skip
MEMBER = 48  #: bytes of an id and a digest


@dataclass(slots=True)
class AuditChecked:
    """What was looked at. `faults`: each in a sentence, by the row or the seal. `unsealed`: rows since the last one."""

    seals: int = 0
    rows: int = 0
    unsealed: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list)


def sweep(now: datetime) -> AuditSeal | None:
    """Make a seal where it is time for one."""
    last = _last()
    if last is not None and now - last.made_at < SEAL_EVERY:
        return None
    is_due = last is None or now - last.made_at >= SEAL_LATEST or _rows(last.until, now - LATE).exists()
    return audit_seal_make(now=now) if is_due else None


@transaction.atomic
def audit_seal_make(*, now: datetime) -> AuditSeal | None:
    """Seal the rows that no seal holds yet and that are old enough. None where another process seals."""
    if not alone():
        return None
    last = _last()
    since = last.until if last else None
    until = max(now - LATE, since or now - LATE)
    rows = list(_rows(since, until)[: MOST_ROWS + 1])
    if len(rows) > MOST_ROWS:  # of one moment all go into one seal
        until = rows[-1].at - timedelta(microseconds=1)
    seal = AuditSeal(
        number=last.number + 1 if last else 1,
        made_at=now,
        since=since,
        until=until,
        previous=last.digest if last else "",
        members=b"".join(row.id.bytes + digest_of_row(row) for row in rows if row.at <= until),
        public_key=keys.public_key(),
    )
    seal.signature = keys.sign(body_of(seal))
    seal.digest = digest_of(seal)
    seal.save(force_insert=True)
    transaction.on_commit(lambda: _remember(seal))
    return seal


def _last() -> AuditSeal | None:
    return AuditSeal.objects.order_by("-number").defer("members").first()


def _rows(since: datetime | None, until: datetime) -> models.QuerySet[Entry]:
    """The rows of a span of time, by when they were written; there is an index of their ids alone."""
    rows = Entry.objects.filter(at__lte=until, id__lt=first_id_at(until + APART)).order_by("at", "id")
    return rows if since is None else rows.filter(at__gt=since, id__gte=first_id_at(since - APART))


def _remember(seal: AuditSeal) -> None:
    """Outside of the database. One that is gone stays remembered: the next one must not hide that."""
    before = keys.remembered_head(keys.AUDIT_HEAD_FILE)
    if before is None or _is_here(*before):
        keys.remember_head(seal.number, seal.digest, keys.AUDIT_HEAD_FILE)
    else:
        log.error("audit_seal_lost", number=before[0], digest=before[1])
    log.info("audit_sealed", number=seal.number, digest=seal.digest)


def _is_here(number: int, digest: str) -> bool:
    """Whether this very seal is stored, as it was signed."""
    seal = AuditSeal.objects.filter(number=number, digest=digest).first()
    return seal is not None and digest_of(seal) == digest


def digest_of_row(row: Entry) -> bytes:
    return hashlib.sha256(canonical({name: getattr(row, name) for name in COLUMNS})).digest()


def body_of(seal: AuditSeal) -> bytes:
    """The bytes that are signed."""
    said = {
        "number": seal.number,
        "made_at": seal.made_at,
        "since": seal.since,
        "until": seal.until,
        "previous": seal.previous,
        "members": hashlib.sha256(bytes(seal.members)).hexdigest(),
        "key": seal.public_key,
    }
    return b"whystop.audit-seal.1\n" + canonical(said)


def digest_of(seal: AuditSeal) -> str:
    return hashlib.sha256(body_of(seal) + seal.signature.encode("ascii", "replace")).hexdigest()


def audit_check(now: datetime) -> AuditChecked:
    """Compare every row and every seal with what was signed."""
    checked, before, own = AuditChecked(), None, keys.own_keys()
    for seal in AuditSeal.objects.order_by("number").iterator(chunk_size=10):
        checked.faults += _seal_faults(seal, before, own)
        then, here = _members(seal), _digests(seal)
        checked.faults += _differing(then, here, seal.number)
        before, checked.seals, checked.rows = seal, checked.seals + 1, checked.rows + len(here)
    if before is not None and Entry.objects.filter(at__lte=before.until).count() != checked.rows:
        checked.faults.append(
            ("audit log", "It has rows that no seal of their time holds: they were added or changed.")
        )
    checked.unsealed = Entry.objects.filter(at__gt=before.until).count() if before else Entry.objects.count()
    if Entry.objects.filter(at__gt=now + LATE).exists():
        checked.faults.append(("audit log", "It has rows of a time that has not come: they were added or changed."))
    remembered = keys.remembered_head(keys.AUDIT_HEAD_FILE)
    if remembered is not None and not _is_here(*remembered):
        words = "It was removed or changed: the data folder remembers it with another digest."
        checked.faults.append((f"audit seal {remembered[0]}", words))
    return checked


def _seal_faults(seal: AuditSeal, before: AuditSeal | None, own: frozenset[str]) -> Iterator[tuple[str, str]]:
    name = f"audit seal {seal.number}"
    told = (seal.number, seal.previous, seal.since)
    if told != ((before.number + 1, before.digest, before.until) if before else (1, "", None)):
        yield name, "It does not continue the seal before it: one of the two was changed or removed."
    signed = seal.public_key in own and keys.is_signed(body_of(seal), by=seal.public_key, signature=seal.signature)
    if not signed or digest_of(seal) != seal.digest:
        yield name, "Its signature is not this installation's, or what it seals was changed."


def _members(seal: AuditSeal) -> dict[UUID, bytes]:
    held = bytes(seal.members)
    starts = range(0, len(held) - len(held) % MEMBER, MEMBER)
    return {UUID(bytes=held[start : start + 16]): held[start + 16 : start + MEMBER] for start in starts}


def _digests(seal: AuditSeal) -> dict[UUID, bytes]:
    """Of the rows that are stored now from the time of a seal."""
    return {row.id: digest_of_row(row) for row in _rows(seal.since, seal.until).iterator()}


def _differing(then: Mapping[UUID, bytes], here: Mapping[UUID, bytes], number: int) -> Iterator[tuple[str, str]]:
    for row in sorted(then.keys() | here.keys()):
        if row not in here:
            yield f"audit row {row}", f"It was removed, or its time was changed: audit seal {number} holds it."
        elif row not in then:
            yield f"audit row {row}", f"It was added after audit seal {number}, which is of its time."
        elif then[row] != here[row]:
            yield f"audit row {row}", f"It was changed after audit seal {number}."
