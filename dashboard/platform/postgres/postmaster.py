"""Starting, finding and stopping the server process of one cluster. The caller holds the start lock throughout.

Also holds who may connect to the server: the user that started it, the owner of the folder around it, and root.

The kernel says whose process asks (`peer`). The user that runs PostgreSQL, where that is none of them, may not. The
rules stand outside its data folder and are written at each start, so a cluster from before them has them too.
"""

import contextlib
import os
import pwd
import signal
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from errno import ECONNREFUSED, ECONNRESET, ENOENT, EPIPE
from pathlib import Path

from dashboard.platform.postgres.binaries import Binaries
from dashboard.platform.postgres.errors import PostgresError, said_by_postgres
from dashboard.platform.postgres.paths import ClusterPaths, make_socket_folder
from dashboard.platform.postgres.processes import end_all, escalate, serves

_HEAD = "# Written at each start of the server; changes here are lost.\n"
_NAMED = "local all all peer map=whystop\n"
#: For a user without a name, whom PostgreSQL cannot tell by it: the socket's folder is closed to all others.
_NAMELESS = "local all all trust\n"


def access_settings(home: ClusterPaths) -> Mapping[str, str]:
    """Settings of the server with which it keeps these rules."""
    users = {0, os.geteuid(), home.folder.stat().st_uid}
    named = {uid: name for uid in sorted(users) if (name := _name(uid)) is not None}
    alone = home.account.uid in users and home.account.uid not in named
    _write(_hba(home), _NAMELESS if alone else _NAMED)
    _write(_ident(home), "".join(f'whystop "{name}" all\n' for name in named.values()))
    return {"hba_file": str(_hba(home)), "ident_file": str(_ident(home))}


def keeps_rules(home: ClusterPaths) -> bool:
    """Whether the server that runs was started with them: one from before may outlive who started it."""
    try:
        options = (home.data / "postmaster.opts").read_text()
    except FileNotFoundError:
        return False
    return '"hba_file=' in options  # not the path: the same folder may have another here


def _hba(home: ClusterPaths) -> Path:
    return home.folder / "pg_hba.conf"


def _ident(home: ClusterPaths) -> Path:
    return home.folder / "pg_ident.conf"


def _write(path: Path, rules: str) -> None:
    path.unlink(missing_ok=True)  # never written through a link, or into a file of somebody else's
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(descriptor, 0o644)  # whatever the umask: the server reads it as another user
        file.write(_HEAD + rules)


def _name(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


#: Server settings for a small machine; names and values as in postgresql.conf.
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "cluster_name": "whystop",
}

_READY_WITHIN = 600.0  #: seconds; a crash recovery can take minutes
_LONGEST_LOG = 10_000_000  #: bytes, then the log starts anew and the last one is kept beside it

_FAST_THEN_HARD = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))

# The one question of the protocol that is answered, with one byte, before anybody says who they are.
_ASK_FOR_TLS = struct.pack("!ii", 8, 80877103)

# The errors of a socket that nobody serves. Any other says something of this process, or that the server is busy.
_DEAD_SOCKET = frozenset({ECONNREFUSED, ECONNRESET, ENOENT, EPIPE})

# The servers this process started, to be collected should they end before it.
_children: set[int] = set()


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A living server process."""

    pid: int
    sockets: Path
    ready: bool


def find_postmaster(home: ClusterPaths) -> Postmaster | None:
    """The server process of this cluster, whoever started it; None when its pid file is stale or missing."""
    _reap()
    try:
        lines = (home.data / "postmaster.pid").read_text().splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, ValueError, IndexError):
        return None
    if not serves(pid, home.data):
        return None
    # The server writes the file line by line: the socket folder is the fifth, its state the eighth.
    sockets = Path(lines[4]) if len(lines) > 4 else home.folder
    return Postmaster(pid, sockets, ready=len(lines) > 7 and lines[7].strip() == "ready")


def ensure_running(
    home: ClusterPaths, binaries: Binaries, settings: Mapping[str, str], on_message: Callable[[str], None]
) -> Path:
    """Adopts the running server or starts one; the folder of its socket."""
    found = find_postmaster(home)
    if found is not None:
        ready = _wait_until_ready(home, _Launch(pid=None, log_start=0), on_message)
        if keeps_rules(home) and _accepts(ready.sockets):
            return ready.sockets
        # It lets in whom it should not; or its socket was swept away (by a cleaner of temporary folders, say).
        stop_postmaster(home)
    return _start(home, binaries, settings, on_message)


def stop_postmaster(home: ClusterPaths) -> None:
    """Ends the server as gently as it lets us; nothing that was committed is lost either way."""
    found = find_postmaster(home)
    if found is None:
        return
    if not escalate(found.pid, home.data, _FAST_THEN_HARD):
        raise PostgresError(f"PostgreSQL (process {found.pid}) does not end: its log is {home.log}.")
    _reap()
    # A folder for temporary files is no place to leave one in; it goes if the server left it empty.
    if found.sockets.parent != home.folder:
        with contextlib.suppress(OSError):
            found.sockets.rmdir()


@dataclass(frozen=True, slots=True)
class _Launch:
    pid: int | None  #: None for one that somebody else started
    log_start: int  #: where in the log its words begin


def _start(
    home: ClusterPaths, binaries: Binaries, settings: Mapping[str, str], on_message: Callable[[str], None]
) -> Path:
    end_all(home.data)
    sockets = make_socket_folder(home)
    # A reused or zombie pid in any of these would keep the server from starting.
    for stale in (home.data / "postmaster.pid", sockets / ".s.PGSQL.5432", sockets / ".s.PGSQL.5432.lock"):
        stale.unlink(missing_ok=True)
    quoted = '"' + str(sockets).replace('"', '""') + '"'
    options = {**SETTINGS, **settings, **access_settings(home), "unix_socket_directories": quoted}
    command = [str(binaries.postgres), "-D", str(home.data)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    log = _open_log(home.log)
    try:
        log_start = os.fstat(log).st_size
        process = home.account.popen(command, output=log)
    finally:
        os.close(log)
    _children.add(process.pid)
    try:
        return _wait_until_ready(home, _Launch(process.pid, log_start), on_message).sockets
    finally:
        # The server is meant to outlive us: Popen, which would warn of that, need not know more of it.
        process.returncode = 0


def _wait_until_ready(home: ClusterPaths, launch: _Launch, on_message: Callable[[str], None]) -> Postmaster:
    began = time.monotonic()
    told = False
    while True:
        found = find_postmaster(home)
        if found is not None and found.ready:
            return found
        # Before it has written its pid file, a server of our own is known only as a child.
        if found is None and launch.pid not in _children:
            raise said_by_postgres(_read_log(home.log, launch.log_start), folder=home.folder, log=home.log)
        waited = time.monotonic() - began
        if waited > _READY_WITHIN:
            raise PostgresError(f"PostgreSQL was not ready after {_READY_WITHIN:.0f} seconds: its log is {home.log}.")
        if waited > 3 and not told:
            on_message("The database is repairing itself after a crash; this can take a while.")
            told = True
        time.sleep(0.01)


def _accepts(sockets: Path) -> bool:
    """Whether the server answers a client; a slow or busy one does, one that was killed this moment does not.

    Raises OSError where this process cannot ask.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(sockets / ".s.PGSQL.5432"))
            client.sendall(_ASK_FOR_TLS)
            return client.recv(1) != b""
        except (TimeoutError, BlockingIOError):  # the latter: more clients wait to be let in than the system keeps
            return True
        except OSError as error:
            if error.errno in _DEAD_SOCKET:
                return False
            raise


def _open_log(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > _LONGEST_LOG:
            path.replace(path.with_suffix(".1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _read_log(path: Path, start: int) -> str:
    with path.open("rb") as log:
        log.seek(start)
        return log.read(100_000).decode(errors="replace")


def _reap() -> None:
    for pid in tuple(_children):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        _children.discard(ended)
