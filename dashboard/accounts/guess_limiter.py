"""Rate limits on guessing passwords, codes and tokens. A guess is counted in the database before it is judged, so that
concurrent guesses cannot pass the limit.

Each kind of count has its own limit, in windows that begin with the first guess. A guess that is right is given back,
and nothing else is: so who may sign in gains no guesses at another account by it.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil

from django.db import connection
from django.db.models import F

from dashboard.accounts.models import GuessCount

THIS_MACHINE = "this machine"  #: in place of an address


class GuessKind(StrEnum):
    """The kinds of guesses, each counted apart."""

    ADDRESS = "address"  #: every guess of one address, or one IPv6 /64
    PAIR = "address and account"  #: those of one address at one account
    ACCOUNT = "account"  #: those of all other machines at one account
    PASSWORD = "present password"  # noqa: S105 - what who is signed in types to change it
    SECOND_FACTOR = "second factor"  #: codes of one account's app, and its recovery codes


@dataclass(frozen=True, slots=True)
class GuessLimit:
    """So many within so long."""

    guesses: int
    within: timedelta


#: Ten guesses of one address leave an account to all others; only many addresses together close it to other machines.
LIMITS: Mapping[GuessKind, GuessLimit] = {
    GuessKind.ADDRESS: GuessLimit(10, timedelta(minutes=1)),
    GuessKind.PAIR: GuessLimit(20, timedelta(hours=1)),
    GuessKind.ACCOUNT: GuessLimit(100, timedelta(hours=1)),
    GuessKind.PASSWORD: GuessLimit(10, timedelta(minutes=10)),
    GuessKind.SECOND_FACTOR: GuessLimit(10, timedelta(hours=1)),
}


@dataclass(frozen=True, slots=True)
class GuessKey:
    """One count."""

    kind: GuessKind
    of: tuple[str, ...]

    def __str__(self) -> str:
        """As it is stored: people type passwords where their name belongs, so no name is kept."""
        return hashlib.sha256("\0".join((self.kind, *self.of)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CountedGuess:
    """May be judged: by key, the end of the window it was counted in."""

    windows: Mapping[GuessKey, datetime]


@dataclass(frozen=True, slots=True)
class LimitReached:
    """May not be judged, for so many seconds."""

    kind: GuessKind
    seconds: int


def keys_of(address: str, account: str | None = None) -> list[GuessKey]:
    """What a guess counts for. The account is counted last, so that an address that is full does not fill it."""
    keys = [GuessKey(GuessKind.ADDRESS, (address,))]
    if account is not None:
        name = unicodedata.normalize("NFKC", account).casefold()
        keys.append(GuessKey(GuessKind.PAIR, (address, name)))
        if address != THIS_MACHINE:  # the owner gets in here, whatever others do
            keys.append(GuessKey(GuessKind.ACCOUNT, (name,)))
    return keys


def count(keys: Iterable[GuessKey], *, now: datetime) -> CountedGuess | LimitReached:
    """Count one guess for each of these, as far as the first that is full."""
    _forget(now)
    windows: dict[GuessKey, datetime] = {}
    for key in keys:
        until = _add(key, now)
        if until is None:
            return LimitReached(key.kind, _wait(key, now))
        windows[key] = until
    return CountedGuess(windows)


def give_back(counted: CountedGuess) -> None:
    """The guess was right."""
    for key, until in counted.windows.items():
        GuessCount.objects.filter(key=str(key), until=until, guesses__gt=0).update(guesses=F("guesses") - 1)


# One statement, so that of many at the same moment each gets a number of its own. No row returns where none is left.
_ADD = """
    INSERT INTO accounts_guesscount AS counted (key, guesses, until)
    VALUES (%(key)s, 1, %(until)s)
    ON CONFLICT (key) DO UPDATE
    SET guesses = CASE WHEN counted.until <= %(now)s THEN 1 ELSE counted.guesses + 1 END,
        until = CASE WHEN counted.until <= %(now)s THEN excluded.until ELSE counted.until END
    WHERE counted.until <= %(now)s OR counted.guesses < %(most)s
    RETURNING until
"""
# More than one guess adds, so that the table shrinks again.
_FORGET = """
    DELETE FROM accounts_guesscount WHERE key IN (
        SELECT key FROM accounts_guesscount WHERE until <= %(now)s ORDER BY until LIMIT 20 FOR UPDATE SKIP LOCKED
    )
"""


def _add(key: GuessKey, now: datetime) -> datetime | None:
    limit = LIMITS[key.kind]
    given: dict[str, str | datetime | int] = {
        "key": str(key),
        "now": now,
        "until": now + limit.within,
        "most": limit.guesses,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ADD, given)
        row = cursor.fetchone()
    return row[0] if row else None


def _wait(key: GuessKey, now: datetime) -> int:
    until = GuessCount.objects.filter(key=str(key)).values_list("until", flat=True).first()
    return max(1, ceil((until - now).total_seconds())) if until else 1


def _forget(now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"now": now})
