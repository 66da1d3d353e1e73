"""Seals over the audit log: signed lists of its rows, each with the digest of the seal before.

A row is sealed some minutes after it was written, in the order of `at`, and never changes after that. The database
dates each row after the last seal, whatever the clock of its writer says (migration 0003). So what is missing, changed
or added up to the end of the last seal was not done by Whystop.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, models, transaction
from django.db.models.functions import Length

from dashboard.accounts.audit.models import Entry
from dashboard.turns.seals import keys
from dashboard.turns.seals.models import AuditSeal
from dashboard.turns.seals.parts import canonical
from dashboard.turns.seals.signed_lists import MEMBER, alone, digest_of, is_ours, members_of, sign, without_writers

log = structlog.get_logger(__name__)

SEAL_EVERY = timedelta(hours=1)  #: in which something was done
SEAL_LATEST = timedelta(days=1)
BUDGET_SECONDS = 0.5  #: of one sweep, after which no further seal is begun
LATE = timedelta(minutes=15)  #: in which a row may still be stored by a process whose clock is behind
AHEAD = timedelta(days=1)  #: of all seals and of this clock; a row that is later was put off, so as not to be sealed
MOST_ROWS = 50_000  #: of one seal; of one moment all go into one
#: Of a row, all of them. One that is added later needs a list of its own: earlier seals are of these.
COLUMNS = (
    "id", "began_at", "at", "by", "via", "address", "method", "action", "target", "status", "led_to", "project_id",
)  # fmt: skip


@dataclass(slots=True)
class AuditChecked:
    """What was looked at. `faults`: each in a sentence, by the row or the seal. `unsealed`: rows since the last one."""

    seals: int = 0
    rows: int = 0
    unsealed: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list)


def sweep(now: datetime) -> AuditSeal | None:
    """Make a seal where it is time for one, and further ones where that is full; returns the last one."""
    ends, made = time.monotonic() + BUDGET_SECONDS, None
    for seal in audit_seals_make(now=now) if _is_due(now) else ():
        made = seal
        if time.monotonic() > ends:
            break
    return made


def _is_due(now: datetime) -> bool:
    last = _last()
    if last is None or _is_full(last.size) or now - last.made_at >= SEAL_LATEST:
        return True
    return now - last.made_at >= SEAL_EVERY and _rows(last.until, now - LATE).exists()


def _is_full(size: int) -> bool:
    """Whether a seal left rows for the next one. `size`: bytes of its members."""
    return size >= MOST_ROWS * MEMBER


def audit_seals_make(*, now: datetime) -> Iterator[AuditSeal]:
    """One seal after the other, until one is not full."""
    while seal := audit_seal_make(now=now):
        yield seal
        if not _is_full(len(seal.members)):
            break


@transaction.atomic
def audit_seal_make(*, now: datetime) -> AuditSeal | None:
    """Seal the rows that no seal holds yet and that are old enough. None where another process seals, or where somebody
    writes rows for so long that the next attempt has to do it."""
    if not alone():
        return None
    last = _last()
    since = last.until if last else None
    until = _until(since, min(now, _clock_of_database()) - LATE)
    members = [row.id.bytes + digest_of_row(row) for row in _rows(since, until).iterator()]
    # From here on nobody writes, and who writes later sees this seal: no row can come to be among those it lists.
    if not without_writers() or _rows(since, until).count() != len(members):
        return None
    seal = AuditSeal(
        number=last.number + 1 if last else 1,
        made_at=now,
        since=since,
        until=until,
        previous=last.digest if last else "",
        members=b"".join(members),
    )
    sign(seal)
    transaction.on_commit(lambda: _remember(seal))
    return seal


def _until(since: datetime | None, latest: datetime) -> datetime:
    """The end of a seal that begins at `since`: `latest`, or where it is full."""
    latest = max(latest, since or latest)
    full = _rows(since, latest).values_list("at", flat=True)[MOST_ROWS - 1 : MOST_ROWS]
    return next(iter(full), latest)


def _clock_of_database() -> datetime:
    """By which rows are dated: a seal of a process whose clock is ahead would be of a time that has not come."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (clock,) = cursor.fetchone()
    assert isinstance(clock, datetime)
    return clock


def _last() -> Any:
    """The last seal, with the `size` of its members, which are not loaded."""
    return AuditSeal.objects.order_by("-number").defer("members").annotate(size=Length("members")).first()


def _rows(since: datetime | None, until: datetime) -> models.QuerySet[Entry]:
    """The rows of a span of time, by when they were written."""
    rows = Entry.objects.filter(at__lte=until).order_by("at", "id")
    return rows if since is None else rows.filter(at__gt=since)


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


def audit_check(now: datetime) -> AuditChecked:
    """Compare every row and every seal with what was signed, each read once."""
    checked, before, own = AuditChecked(), None, keys.own_keys()
    last = _last()  # before the rows: a seal that is made meanwhile holds some that were not read
    rows = _Rows()
    for seal in AuditSeal.objects.filter(number__lte=last.number if last else 0).order_by("number").iterator(10):
        checked.faults += _seal_faults(seal, before, own)
        here = rows.between(seal.since, seal.until)
        checked.faults += _differing(dict(members_of(seal)), here, seal.number)
        before, checked.seals, checked.rows = seal, checked.seals + 1, checked.rows + len(here)
    if rows.unlisted:
        checked.faults.append(("audit log", "It contains entries that no seal of that period lists."))
    checked.unsealed, latest = rows.left()
    if latest is not None and latest > max(now, before.until if before else now) + AHEAD:
        checked.faults.append(("audit log", "It contains entries dated in the future."))
    remembered = keys.remembered_head(keys.AUDIT_HEAD_FILE)
    if remembered is not None and not _is_here(*remembered):
        words = "It was removed or changed: the data folder remembers it with another digest."
        checked.faults.append((f"audit seal {remembered[0]}", words))
    return checked


class _Rows:
    """The rows that are stored, read once in the order of their time. `unlisted`: those passed over between seals."""

    def __init__(self) -> None:
        self._rows = Entry.objects.order_by("at", "id").iterator(chunk_size=2_000)
        self._next = next(self._rows, None)
        self.unlisted = 0

    def between(self, since: datetime | None, until: datetime) -> dict[UUID, bytes]:
        """The digests of those of the time of a seal."""
        here = {}
        while (row := self._next) is not None and row.at <= until:
            if since is None or row.at > since:
                here[row.id] = digest_of_row(row)
            else:
                self.unlisted += 1
            self._next = next(self._rows, None)
        return here

    def left(self) -> tuple[int, datetime | None]:
        """How many come after the last seal, and the time of the latest one."""
        number, latest = 0, None
        while (row := self._next) is not None:
            number, latest, self._next = number + 1, row.at, next(self._rows, None)
        return number, latest


def _seal_faults(seal: AuditSeal, before: AuditSeal | None, own: frozenset[str]) -> Iterator[tuple[str, str]]:
    name = f"audit seal {seal.number}"
    told = (seal.number, seal.previous, seal.since)
    if told != ((before.number + 1, before.digest, before.until) if before else (1, "", None)):
        yield name, "It does not continue the seal before it: one of the two was changed or removed."
    if not is_ours(seal, own):
        yield name, "Its signature is not this installation's, or what it seals was changed."


def _differing(then: Mapping[UUID, bytes], here: Mapping[UUID, bytes], number: int) -> Iterator[tuple[str, str]]:
    for row in sorted(then.keys() | here.keys()):
        if row not in here:
            yield f"audit row {row}", f"It was removed, or its time was changed: audit seal {number} contains it."
        elif row not in then:
            yield f"audit row {row}", f"It was added after audit seal {number}, which is of its time."
        elif then[row] != here[row]:
            yield f"audit row {row}", f"It was changed after audit seal {number}."
