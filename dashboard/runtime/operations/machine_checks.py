"""Checks of this machine and of the environment: disk, secrets, egress, live updates, the last backup."""

import shutil
import socket
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import redis
from django.conf import settings

from dashboard.platform.egress.rules import APART, ON_ONE_MACHINE, Rules
from dashboard.platform.environment import Environment
from dashboard.platform.errors import StartError
from dashboard.platform.secret_key import SECRET_KEY_FILE
from dashboard.runtime.operations.backup import LAST_BACKUP
from dashboard.runtime.operations.doctor import Finding, State, graded
from dashboard.turns.seals import keys

_GIB = 1 << 30
_LITTLE, _TOO_LITTLE = 5 * _GIB, _GIB  #: bytes of the disk that are free
_BACKUP_LATE = timedelta(days=7)
_ASKED_AT_ONCE = 8  #: names, of which each may wait for a name server
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def disk() -> Iterator[Finding]:
    """What is free where the data folder is."""
    folder = _environment().data_dir
    usage = shutil.disk_usage(folder)
    words = f"{usage.free / _GIB:,.1f} of {usage.total / _GIB:,.1f} GiB free for {folder}"
    fix = "Free some space, or set how long raw answers are kept (docs/how-to/operations.md)."
    yield graded(
        "disk",
        words,
        (usage.free < _TOO_LITTLE, State.ERROR, fix),
        (usage.free < _LITTLE, State.WARNING, fix),
    )


def secrets() -> Iterator[Finding]:
    """The signing key and the secret key, and who can read their files."""
    environment = _environment()
    try:
        yield Finding("signing key", State.OK, f"Its public key is {keys.public_key()}")
    except StartError as error:
        yield Finding("signing key", State.ERROR, str(error), "Restore it from a backup.")
    files = [environment.data_dir / name for name in (keys.KEY_FILE, SECRET_KEY_FILE)]
    open_files = [path for path in files if path.exists() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]
    names = " and ".join(path.name for path in open_files)
    fix = f"chmod 600 {' '.join(map(str, open_files))}"
    words = f"Others can read {names}" if names else "Only their owner can read the files of the keys"
    yield graded("key files", words, (bool(names), State.ERROR, fix))
    yield _debug(environment)


def _debug(environment: Environment) -> Finding:
    fix = "Turn it off: its pages show settings and variables to anyone who causes an error."
    state = State.WARNING if environment.host in _LOOPBACK else State.ERROR
    return graded("debug", f"WHYSTOP_DEBUG is {'on' if environment.debug else 'off'}", (environment.debug, state, fix))


def egress() -> Iterator[Finding]:
    """Where calls may go, and whether the hosts that `WHYSTOP_EGRESS` allows by name are known."""
    rules: Rules = settings.EGRESS
    if _environment().egress is None:
        if rules in (APART, ON_ONE_MACHINE):
            words = (
                "Calls may go to public addresses, and under “manage.py up” to this machine (WHYSTOP_EGRESS is not set)"
            )
            yield Finding("egress", State.OK, words)
        return
    hosts = [entry.host for entry in rules.entries if entry.host and not entry.denies and "*" not in entry.host]
    with ThreadPoolExecutor(max_workers=_ASKED_AT_ONCE) as asked:
        unknown = [host for host, known in zip(hosts, asked.map(_is_known_host, hosts), strict=True) if not known]
    fix = "Correct the names, unless only a proxy can resolve them."
    words = "Calls may go to the addresses in WHYSTOP_EGRESS"
    if unknown:
        words = f"WHYSTOP_EGRESS allows hosts that cannot be resolved here: {', '.join(unknown)}"
    yield graded("egress", words, (bool(unknown), State.WARNING, fix))


def _is_known_host(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, None))
    except (OSError, UnicodeError):
        return False


def live_updates() -> Iterator[Finding]:
    """Redis, where one is named."""
    address = _environment().redis_url
    if not address:
        yield Finding("live updates", State.OK, "No REDIS_URL: changes by other processes appear within a second")
        return
    try:
        with redis.Redis.from_url(address, socket_timeout=3, socket_connect_timeout=3) as asked:
            asked.ping()
        yield Finding("live updates", State.OK, "Redis answers")
    except (redis.RedisError, OSError) as error:
        fix = "Start it, or correct REDIS_URL. Until then pages look for changes each second."
        yield Finding("live updates", State.ERROR, f"Redis does not answer: {type(error).__name__}", fix)


def backups() -> Iterator[Finding]:
    """When the last backup was made from this data folder."""
    path: Path = _environment().data_dir / LAST_BACKUP
    if not path.exists():
        fix = "Run “manage.py backup FILE” each day, unless the database is backed up otherwise."
        yield Finding("backups", State.WARNING, "No backup of this data folder exists", fix)
        return
    try:
        at = datetime.fromisoformat(path.read_text().strip())
    except ValueError:
        words, fix = f"{path} does not say when the last one was made", "Make one: “manage.py backup FILE”."
        yield Finding("backups", State.WARNING, words, fix)
        return
    late = datetime.now(UTC) - at > _BACKUP_LATE
    yield graded(
        "backups", f"The last one was made at {at:%Y-%m-%d %H:%M} UTC", (late, State.WARNING, "Make one each day.")
    )


def _environment() -> Environment:
    found: Environment = settings.ENVIRONMENT
    return found
