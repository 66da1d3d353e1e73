"""Writes of kept answers.

The answer is stored sealed: a new key or token is shown in it. The seal is made of `WHYSTOP_SECRET_KEY` and of the
idempotency key, and neither is in the database.
"""

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import connection
from django.utils import timezone

from dashboard.api.idempotency.models import KeptAnswer

KEPT = timedelta(hours=24)
#: After this long a request that has no answer yet is taken for one whose process has ended.
LOST = timedelta(minutes=10)
SWEEP_SECONDS = 600.0
MOST_BYTES = 8_000_000  #: of an answer that is kept
#: Of the answers of one user, which a program may make any number of. Beyond so many keys the oldest are erased; beyond
#: so many bytes the oldest answers, whose keys stay: what has been done is not done again.
MOST_KEYS, MOST_BYTES_OF_USER = 100_000, 256_000_000
_ERASE_BEYOND = """
WITH kept AS (
    SELECT id, row_number() OVER newest AS place, sum(octet_length(sealed_body)) OVER newest AS bytes
      FROM idempotency_keptanswer WHERE status IS NOT NULL
    WINDOW newest AS (PARTITION BY user_id ORDER BY claimed_at DESC, id DESC)
), erased AS (
    DELETE FROM idempotency_keptanswer WHERE id IN (SELECT id FROM kept WHERE place > %(keys)s)
)
UPDATE idempotency_keptanswer SET sealed_body = ''
 WHERE id IN (SELECT id FROM kept WHERE place <= %(keys)s AND bytes > %(bytes)s) AND sealed_body <> ''
"""


class Claim(Enum):
    """What is known of a key before its request is done."""

    OURS = auto()  #: do it
    UNDER_WAY = auto()  #: somebody does it just now
    OTHER_REQUEST = auto()  #: the key was used for another one
    NOT_KEPT = auto()  #: it was done, and its answer has been erased


@dataclass(frozen=True, slots=True)
class Answer:
    """As it was given the first time."""

    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A write with its key. `request_digest`: SHA-256 of token, method, address and body, in hex."""

    user_id: int
    key: str
    request_digest: str

    @property
    def key_digest(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()

    @property
    def seal(self) -> Fernet:
        secret = settings.SECRET_KEY.encode()
        made = HKDF(SHA256(), 32, salt=self.key.encode(), info=b"whystop idempotency").derive(secret)
        return Fernet(base64.urlsafe_b64encode(made))


def claim(asked: KeyedRequest) -> Claim | Answer:
    """Begin a request, or say why not; the answer where it was done before."""
    now = timezone.now()
    rows = KeptAnswer.objects.filter(user_id=asked.user_id, key_digest=asked.key_digest)
    rows.filter(claimed_at__lt=now - KEPT).delete()
    row, made = rows.get_or_create(
        defaults={"request_digest": asked.request_digest, "claimed_at": now},
        user_id=asked.user_id,
        key_digest=asked.key_digest,
    )
    if made:
        return Claim.OURS
    if row.request_digest != asked.request_digest:
        return Claim.OTHER_REQUEST
    if row.status is None:
        return _taken_over(row, now)
    if not row.sealed_body:  # an empty answer is sealed, too
        return Claim.NOT_KEPT
    try:
        return Answer(row.status, row.content_type, asked.seal.decrypt(bytes(row.sealed_body)))
    except InvalidToken:  # WHYSTOP_SECRET_KEY is another one now
        return Claim.OTHER_REQUEST


def _taken_over(row: KeptAnswer, now: datetime) -> Claim:
    """Of several who come after a request that was lost, one does it."""
    lost = KeptAnswer.objects.filter(pk=row.pk, claimed_at=row.claimed_at, claimed_at__lt=now - LOST)
    return Claim.OURS if lost.update(claimed_at=now) else Claim.UNDER_WAY


def keep(asked: KeyedRequest, answer: Answer) -> None:
    """Give this answer, of at most `MOST_BYTES`, to whoever sends the same again."""
    rows = KeptAnswer.objects.filter(user_id=asked.user_id, key_digest=asked.key_digest)
    sealed = asked.seal.encrypt(answer.body)
    rows.update(status=answer.status, content_type=answer.content_type, sealed_body=sealed)


def let_go(asked: KeyedRequest) -> None:
    """Forget a request that changed nothing: its key may be used again."""
    KeptAnswer.objects.filter(user_id=asked.user_id, key_digest=asked.key_digest, status=None).delete()


def sweep() -> None:
    """Erase what is older than a day, and of each user the oldest keys and answers beyond the bounds."""
    KeptAnswer.objects.filter(claimed_at__lt=timezone.now() - KEPT).delete()
    with connection.cursor() as cursor:
        cursor.execute(_ERASE_BEYOND, {"keys": MOST_KEYS, "bytes": MOST_BYTES_OF_USER})


@contextmanager
def resource_lock(name: str) -> Iterator[None]:
    """Held by one write at a time of all that are sent with `If-Match` to the same resource."""
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [number])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [number])
