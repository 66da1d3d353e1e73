"""What every kind of seal is: a signed list of ids with a digest each, which holds the digest of the list before.

One process seals at a time, and nobody writes an entry of the audit log while its seal is made.
"""

import hashlib
import time
from collections.abc import Collection, Iterator
from uuid import UUID

from django.db import connection

from dashboard.turns.seals import keys
from dashboard.turns.seals.models import SignedList
from dashboard.turns.seals.parts import canonical

MEMBER = 48  #: bytes of an id and a digest


def sign(seal: SignedList) -> None:
    """Sign a new seal and store it."""
    seal.public_key = keys.public_key()
    seal.signature = keys.sign(body_of(seal))
    seal.digest = digest_of(seal)
    seal.save(force_insert=True)


def body_of(seal: SignedList) -> bytes:
    """The bytes that are signed."""
    said = {name: getattr(seal, name) for name in seal.SIGNED}
    listed = {"members": hashlib.sha256(bytes(seal.members)).hexdigest(), "key": seal.public_key}
    return seal.MARK + canonical(said | listed)


def digest_of(seal: SignedList) -> str:
    return hashlib.sha256(body_of(seal) + seal.signature.encode("ascii", "replace")).hexdigest()


def is_ours(seal: SignedList, own: Collection[str]) -> bool:
    """Whether this installation made it, and as it is. `own`: its public keys."""
    signed = seal.public_key in own and keys.is_signed(body_of(seal), by=seal.public_key, signature=seal.signature)
    return signed and digest_of(seal) == seal.digest


def members_of(seal: SignedList) -> Iterator[tuple[UUID, bytes]]:
    """Each id of a seal, with its digest."""
    members = bytes(seal.members)
    for start in range(0, len(members) - len(members) % MEMBER, MEMBER):
        yield UUID(bytes=members[start : start + 16]), members[start + 16 : start + MEMBER]


LOCK = 7_316_005
ENTRIES = 7_316_006  #: each writer of an entry shares it (a trigger: migration 0003)
TRIES, PAUSE_SECONDS = 20, 0.01


def alone(lock: int = LOCK) -> bool:
    """Until the transaction ends; false where another process has the lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock])
        (got,) = cursor.fetchone()
    return bool(got)


def without_writers() -> bool:
    """Whether no transaction writes an entry from here on until this one ends. Who writes is not kept in line: entries
    take milliseconds, and what takes longer is left to the next attempt."""
    for _ in range(TRIES):
        if alone(ENTRIES):
            return True
        time.sleep(PAUSE_SECONDS)
    return False
