"""DATABASE_URL as Django's settings want it, and what is said when that server does not answer."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from dashboard.platform.errors import StartError
from dashboard.platform.process_identity import PLACE

_OLDEST = 140000  #: server version number, as PostgreSQL counts

_UNREADABLE = (
    "DATABASE_URL is not a PostgreSQL address: write postgresql://user:password@host:5432/database, "
    "with special characters percent-encoded."
)

# psycopg's pool keeps connections for all threads; requests beyond its size wait their turn. Several processes of one
# supervisor share what a server lets in (200 by default where it is ours).
_MOST, _MOST_OF_ALL = 24, 128
_POOL = {
    "min_size": 1,
    "max_size": min(_MOST, _MOST_OF_ALL // PLACE.processes) if PLACE else _MOST,
    "max_idle": 300.0,
    # Its pauses between attempts double until it gives up; whoever asks next begins anew. After an outage of half a
    # minute, the pool's own five minutes left the database unused for 24 s more.
    "reconnect_timeout": 3.0,
}

_DEFAULTS: dict[str, Any] = {"connect_timeout": 5}  #: seconds, unless the address names another time


def database_settings(url: str) -> dict[str, Any]:
    """Django's settings for `url`; for an empty one the embedded PostgreSQL, which starts when first asked."""
    parts = _parse(url) if url else {"dbname": "whystop", "user": "whystop"}
    known = {field: str(parts.pop(name, "")) for name, field in _FIELDS.items()}
    options = _DEFAULTS | parts
    return {
        "ENGINE": "django.db.backends.postgresql" if url else "dashboard.platform.embedded_backend",
        **known,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**options, "pool": {**_POOL, "timeout": _pool_seconds(str(options["connect_timeout"]))}},
    }


def _pool_seconds(connect_timeout: str) -> float:
    """How long to wait for a connection of the pool: as long as two attempts to connect, where they have a limit."""
    seconds = int(connect_timeout) if connect_timeout.isdigit() else 0
    return 2.0 * (seconds or _DEFAULTS["connect_timeout"])


_FIELDS = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


def address_of(parameters: Mapping[str, Any]) -> str:
    """The DATABASE_URL of another process that is to connect as this one does, by Django's parameters."""
    said = {name: value for name, value in parameters.items() if name not in _NOT_OF_AN_ADDRESS and value is not None}
    return f"postgresql:///?{urlencode(said, quote_via=quote)}"


_NOT_OF_AN_ADDRESS = frozenset({"cursor_factory", "context", "prepare_threshold", "autocommit", "pool"})


def _parse(url: str) -> dict[str, Any]:
    if not url.startswith(("postgresql://", "postgres://")):
        raise StartError(_UNREADABLE)
    try:
        parts = dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        # Its message may quote a part of the password.
        raise StartError(_UNREADABLE) from None
    if not str(parts.get("port") or 0).isdigit():
        raise StartError(_UNREADABLE)
    if not parts.get("dbname"):
        raise StartError("DATABASE_URL names no database: put its name last, as in postgresql://host/database.")
    return parts


def check_server(url: str) -> None:
    """Connects to the server of DATABASE_URL; raises StartError when that will not do."""
    parts = _parse(url)
    try:
        with psycopg.connect(**_DEFAULTS | parts, autocommit=True) as connection:
            version = connection.info.server_version
            shared = _pooled_by_transaction(connection, parts)
    except psycopg.Error as error:
        raise _why(str(error), parts) from error
    if shared:
        raise StartError(_TRANSACTION_POOLING)
    if version < _OLDEST:
        raise StartError(
            f"The server of DATABASE_URL is PostgreSQL {version // 10000}: "
            f"name one of version {_OLDEST // 10000} or newer."
        )


_TRANSACTION_POOLING = (
    "DATABASE_URL names a pooler that reassigns connections after each transaction. Whystop needs its connections "
    "for whole sessions: set pool_mode = session for its database in PgBouncer."
)


def _pooled_by_transaction(connection: "psycopg.Connection[Any]", parts: dict[str, Any]) -> bool:
    """Whether open connections share a process of PostgreSQL, or one of them changes it."""
    with ExitStack() as opened:
        another, third = (
            opened.enter_context(psycopg.connect(**{**_DEFAULTS, **parts}, autocommit=True)) for _ in range(2)
        )
        served, again = (
            [each.execute("SELECT pg_backend_pid()").fetchone() for each in (connection, another, third)]
            for _ in range(2)
        )
    return len({*served}) < len(served) or served != again


def reason_away(url: str) -> StartError | None:
    """Why the server of DATABASE_URL does not let us in; None where it does, and where there is no DATABASE_URL."""
    try:
        if url:
            check_server(url)
    except StartError as error:
        return error
    return None


def is_away(error: psycopg.Error) -> bool:
    """Whether the database does not answer, or no longer. An error with a SQLSTATE is an answer."""
    return error.sqlstate is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


class ServerAwayError(StartError):
    """The server may answer in a moment, with nothing corrected."""


# Before there is a connection the server's words are all there is; a server in another language gets the last line.
_WORDS: tuple[tuple[str, type[StartError], str], ...] = (
    ("No space left on device", ServerAwayError, "has no room left on its disk: free some space there"),
    (
        "password authentication failed",
        StartError,
        "does not accept the password of user “{user}”: correct it in DATABASE_URL",
    ),
    ("no password supplied", StartError, "wants a password for user “{user}”: add it to DATABASE_URL"),
    ("no pg_hba.conf entry", StartError, "does not let user “{user}” in from here: allow it in its pg_hba.conf"),
    ("role ", StartError, "knows no user “{user}”: create it or correct DATABASE_URL"),
    ("does not exist", StartError, "has no database “{dbname}”: create it or correct DATABASE_URL"),
    ("resolve host", StartError, "is not found: there is no host “{host}”; correct DATABASE_URL"),
    ("translate host name", StartError, "is not found: there is no host “{host}”; correct DATABASE_URL"),
    ("Name or service not known", StartError, "is not found: there is no host “{host}”; correct DATABASE_URL"),
    ("Connection refused", ServerAwayError, "does not answer at {host}:{port}: start it or correct DATABASE_URL"),
    ("timeout", ServerAwayError, "does not answer at {host}:{port} in time: start it or correct DATABASE_URL"),
    ("too many", ServerAwayError, "has no connection left: raise its max_connections or end other programs"),
    ("starting up", ServerAwayError, "is still starting: try again in a moment"),
    ("", ServerAwayError, "cannot be reached at {host}:{port}: {said}"),
)


def _why(said: str, parts: Mapping[str, Any]) -> StartError:
    values = {
        "user": parts.get("user", ""),
        "dbname": parts["dbname"],
        "host": parts.get("host", "the local socket"),
        "port": parts.get("port", 5432),
        "said": said.strip().splitlines()[0] if said.strip() else "no reason was given",
    }
    kind, sentence = next((kind, sentence) for words, kind, sentence in _WORDS if words in said)
    return kind(f"The server of DATABASE_URL {sentence.format(**values).rstrip('.')}.")
