"""The environment, read once and checked; the only place that knows the names and defaults of its variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import environ

from dashboard.runtime.errors import StartError

CHECKOUT = Path(__file__).resolve().parent.parent.parent

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})
_HIGHEST_PORT = 65535
_LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "ERROR"})


@dataclass(frozen=True, slots=True)
class Environment:
    """What the person who starts Whystop may choose."""

    data_dir: Path  #: WHYSTOP_DATA_DIR
    database_url: str  #: DATABASE_URL; empty: the embedded PostgreSQL of the data folder
    redis_url: str  #: REDIS_URL; empty: live updates stay within one process
    host: str  #: WHYSTOP_HOST
    port: int  #: WHYSTOP_PORT; 0: any free one
    simulator_port: int  #: WHYSTOP_SIMULATOR_PORT; 0: the usual one, or any free one
    allowed_hosts: tuple[str, ...]  #: WHYSTOP_ALLOWED_HOSTS, by comma: names under which browsers come
    https: bool  #: WHYSTOP_HTTPS: browsers come by https, through a proxy
    secret_key: str  #: WHYSTOP_SECRET_KEY; empty: made once and kept in the data folder
    bootstrap_token: str  #: WHYSTOP_BOOTSTRAP_TOKEN
    log_level: str  #: WHYSTOP_LOG_LEVEL
    debug: bool  #: WHYSTOP_DEBUG: Django's own debug pages


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """Reads `variables` (default: those of the process); raises StartError for one that makes no sense."""
    env = environ.Env()
    env.ENVIRON = dict(os.environ if variables is None else variables)
    return Environment(
        data_dir=Path(_text(env, "WHYSTOP_DATA_DIR", str(CHECKOUT / ".whystop"))).expanduser().resolve(),
        database_url=_text(env, "DATABASE_URL", ""),
        redis_url=_text(env, "REDIS_URL", ""),
        host=_text(env, "WHYSTOP_HOST", "127.0.0.1"),
        port=_port(env, "WHYSTOP_PORT", 8321),
        simulator_port=_port(env, "WHYSTOP_SIMULATOR_PORT", 0),
        allowed_hosts=tuple(
            part.strip() for part in _text(env, "WHYSTOP_ALLOWED_HOSTS", "").split(",") if part.strip()
        ),
        https=_switch(env, "WHYSTOP_HTTPS"),
        secret_key=_text(env, "WHYSTOP_SECRET_KEY", ""),
        bootstrap_token=_text(env, "WHYSTOP_BOOTSTRAP_TOKEN", ""),
        log_level=_level(env, "WHYSTOP_LOG_LEVEL", "WARNING"),
        debug=_switch(env, "WHYSTOP_DEBUG"),
    )


def _text(env: environ.Env, name: str, default: str) -> str:
    # A variable that is set but empty means the same as one that is not set.
    return str(env.ENVIRON.get(name, "")).strip() or default


def _port(env: environ.Env, name: str, default: int) -> int:
    try:
        number = env.int(name, default=default) if _text(env, name, "") else default
    except ValueError:
        number = -1
    if not 0 <= number <= _HIGHEST_PORT:
        raise StartError(f"{name} must be a port number from 0 to {_HIGHEST_PORT}, not “{env.ENVIRON[name]}”.")
    return int(number)


def _switch(env: environ.Env, name: str) -> bool:
    word = _text(env, name, "").lower()
    if word not in _TRUE | _FALSE:
        raise StartError(f"{name} must be 1 or 0, not “{word}”.")
    return word in _TRUE


def _level(env: environ.Env, name: str, default: str) -> str:
    word = _text(env, name, default).upper()
    if word not in _LEVELS:
        raise StartError(f"{name} must be one of {', '.join(sorted(_LEVELS))}, not “{word}”.")
    return word
