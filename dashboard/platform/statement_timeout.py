"""How long a statement may take, by who asks it. PostgreSQL ends one that takes longer.

Whoever begins work says once what it is (`working_as`); all that is asked in its course goes by that. Commands, such as
migrations, take the time they need. The gateway's recorder has limits and a connection of its own.
"""

import contextvars
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from django.db.backends.signals import connection_created

#: In seconds; 0: as long as it takes.
SECONDS = {"command": 0, "job": 300, "page": 30}
SEARCH_SECONDS = 10  #: of one query of a search
CANCELED = "57014"  #: SQLSTATE of a statement that was ended for the time it took
TOO_SLOW = (
    "This query took too long and was stopped. Search for fewer words or a shorter time. If this does not help, try "
    "again later."
)

Application = Callable[..., Any]  #: ASGI, as our applications type it each in its own way

_role: contextvars.ContextVar[str] = contextvars.ContextVar("statement_role", default="command")
_told: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  #: seconds that each connection of the pool was told


def working_as(role: str) -> None:
    """From here on, in this task or thread and what it begins, statements have the time of this role."""
    assert role in SECONDS, role
    _role.set(role)


def timed(application: Application, role: str) -> Application:
    """The application, with each request and socket in this role."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        working_as(role)
        await application(scope, receive, send)

    return app


def was_too_slow(error: BaseException | None) -> bool:
    """Whether the database ended a statement for the time it took."""
    return getattr(error.__cause__, "sqlstate", None) == CANCELED if error is not None else False


def _limit(connection: Any, **_: object) -> None:
    """A connection was taken from the pool; who had it last may have had another role."""
    taken, seconds = connection.connection, SECONDS[_role.get()]
    if connection.vendor == "postgresql" and _told.get(taken, 0) != seconds:
        taken.execute(f"SET statement_timeout = '{seconds}s'")
        _told[taken] = seconds


def begin() -> None:
    """Have every connection that is taken from now on told."""
    connection_created.connect(_limit, dispatch_uid="statement_time")
