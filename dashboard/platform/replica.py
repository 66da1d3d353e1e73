"""Reads that may be a moment late, from the replica that `WHYSTOP_REPLICA_URL` names, as long as it keeps up.

The timeline, its counts and the metrics board may show what was true seconds ago (`may_be_late`); a backtest needs the
turns that had ended when it began (`late_since_now`). What they read in their course comes from the replica: models by
`ReadRouter`, statements by `read_connection`. All else is read from the primary, and so is everything while the replica
is unavailable or too far behind.
"""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from dashboard.platform.statement_timeout import was_too_slow

log = structlog.get_logger(__name__)

REPLICA = "replica"
LATEST_SECONDS = 5.0  #: that a replica may be behind
CHECKED_SECONDS = 1.0  #: for which an answer holds
AWAY_SECONDS = 5.0  #: for which a replica that failed is not asked
WROTE = "whystop_wrote"  #: the cookie of a browser that has just changed something, and is to see it

#: Positions in the log of writes, as PostgreSQL compares them.
_WRITTEN = "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END::text"
_REACHED = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"

Result = TypeVar("Result")

_alias: ContextVar[str] = ContextVar("read_alias", default=DEFAULT_DB_ALIAS)


class ReadRouter:
    """Where Django reads and writes models."""

    def db_for_read(self, _model: Any, **_hints: Any) -> str:
        return _alias.get()

    def db_for_write(self, _model: Any, **_hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, _one: Any, _other: Any, **_hints: Any) -> bool:
        return True  # the same row, wherever it was read

    def allow_migrate(self, db: str, _app: str, **_hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


def read_connection() -> Any:
    """The connection for a statement that reads."""
    return connections[_alias.get()]


@dataclass(slots=True)
class _Lag:
    """How far the replica is known to be behind."""

    asked_at: float = 0.0
    keeps_up: bool = False
    written: str = ""  #: a position that had been written at `written_at`
    written_at: float = 0.0
    away_until: float = 0.0  #: it failed, and is not asked before

    def look(self, now: float) -> bool:
        """Whether it is known to have all that was written `LATEST_SECONDS` ago."""
        if now - self.asked_at >= CHECKED_SECONDS and now >= self.away_until:
            self.asked_at = now
            self._measure(written_position(), now)
        return self.keeps_up

    def _measure(self, written: str, now: float) -> None:
        lately = bool(self.written) and now - self.written_at <= LATEST_SECONDS
        if has_reached(written):
            self.keeps_up, reached = True, True
        else:
            reached = bool(self.written) and has_reached(self.written)
            self.keeps_up = lately and (reached or self.keeps_up)
        if reached or not lately:
            self.written, self.written_at = written, now

    def failed(self, why: Exception) -> None:
        """Do not ask it for a while."""
        log.warning("replica_not_used", error=str(why).partition("\n")[0], seconds=AWAY_SECONDS)
        connections[REPLICA].close()  # the next who asks is to have another
        self.keeps_up, self.away_until = False, time.monotonic() + AWAY_SECONDS


def written_position() -> str:
    """The position in its log up to which the primary has written."""
    return str(_one(DEFAULT_DB_ALIAS, _WRITTEN))


def has_reached(position: str) -> bool:
    """Whether the replica shows what was written up to there. Raises `OperationalError` where it does not answer."""
    return bool(_one(REPLICA, _REACHED, position))


def is_replica() -> bool:
    """Whether it is a replica, and one of this database: both have the same first project."""
    first = "SELECT id FROM agents_project ORDER BY created_at, id LIMIT 1"
    ours = _one(DEFAULT_DB_ALIAS, first) == _one(REPLICA, first)
    return ours and bool(_one(REPLICA, "SELECT pg_is_in_recovery()"))


_lag = _Lag()


def is_configured() -> bool:
    return REPLICA in connections.settings


def may_be_late(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A view whose reads may be late, but for a browser that has just changed something."""

    @functools.wraps(view)
    def read(request: HttpRequest, *given: Any, **named: Any) -> HttpResponse:
        if not is_configured() or WROTE in request.COOKIES:
            return view(request, *given, **named)
        return late(lambda: view(request, *given, **named))

    return read


def late(read: Callable[[], Result]) -> Result:
    """What `read` finds at the replica; where that fails, what it finds at the primary."""
    return _read_there(read) if _usable() else read()


def _read_there(read: Callable[[], Result]) -> Result:
    try:
        with _reading():
            return read()
    except (OperationalError, InterfaceError) as error:  # it has gone, or ended a statement to catch up
        if was_too_slow(error):
            raise  # it would take as long elsewhere
        _lag.failed(error)
        return read()


def late_since_now(read: Callable[[], Result]) -> Result:
    """As `late`, once the replica has all that is written by now; without it where that takes too long."""
    return _read_there(read) if is_configured() and _caught_up() else read()


def _caught_up() -> bool:
    now = time.monotonic()
    if now < _lag.away_until:
        return False
    written, until = written_position(), now + LATEST_SECONDS
    try:
        while not has_reached(written):
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
    except (OperationalError, InterfaceError) as error:
        _lag.failed(error)
        return False
    return True


def _usable() -> bool:
    try:
        return is_configured() and _lag.look(time.monotonic())
    except (OperationalError, InterfaceError) as error:
        _lag.failed(error)
        return False


@contextmanager
def _reading() -> Iterator[None]:
    token = _alias.set(REPLICA)
    try:
        yield
    finally:
        _alias.reset(token)


def _one(alias: str, statement: str, *values: str) -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(statement, values)
        row = cursor.fetchone()
    return row[0] if row else None


class WroteMiddleware(MiddlewareMixin):
    """After a request that may have changed something, its browser is shown the primary's state for a while."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Sets the cookie."""
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            safe: dict[str, Any] = {"httponly": True, "samesite": "Lax", "secure": settings.SESSION_COOKIE_SECURE}
            response.set_cookie(WROTE, "1", max_age=int(2 * LATEST_SECONDS), **safe)
        return response
