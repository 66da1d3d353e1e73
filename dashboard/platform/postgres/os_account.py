"""Which user runs PostgreSQL.

PostgreSQL refuses to run as root, so root lends the cluster to a user that exists already: the one who owns it, else
`postgres`, else `nobody`. Anybody else runs it as themselves. No user is made and no folder above is changed.
"""

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dashboard.platform.postgres.errors import PostgresError

_UNPRIVILEGED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """The user PostgreSQL runs as."""

    uid: int
    gid: int
    borrowed: bool  #: we are root and run its programs in this user's name

    def popen(
        self, command: Sequence[str | Path], *, output: int | IO[bytes], stdin: int = subprocess.DEVNULL
    ) -> "subprocess.Popen[bytes]":
        """Starts a program as this user in a session of its own, so that Ctrl-C does not reach it."""
        return subprocess.Popen(  # noqa: S603 - our own programs, no shell
            [os.fspath(part) for part in command],
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=_environment(),
            start_new_session=True,
            user=self.uid if self.borrowed else None,
            group=self.gid if self.borrowed else None,
            extra_groups=[] if self.borrowed else None,
        )

    def run(self, command: Sequence[str | Path], *, stdin: str = "") -> tuple[int, str]:
        """Runs a program to its end; its exit code and all it printed."""
        with self.popen(command, output=subprocess.PIPE, stdin=subprocess.PIPE) as process:
            output, _ = process.communicate(stdin.encode())
        return process.returncode, output.decode(errors="replace")

    def reaches(self, path: Path) -> bool:
        """Whether this user gets through every folder above `path` and into it."""
        if not self.borrowed:
            return True
        # The kernel answers, so access lists and mounts count too, not only mode bits.
        code, _ = self.run(["/bin/sh", "-c", 'test -x "$1"', "sh", path])
        return code == 0

    def own(self, path: Path) -> None:
        """Gives a folder to this user alone; never another folder, to which a link was put in its place meanwhile."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if self.borrowed:
                os.fchown(descriptor, self.uid, self.gid)
            os.fchmod(descriptor, 0o700)
        finally:
            os.close(descriptor)


def _environment() -> Mapping[str, str]:
    """PG* variables of the caller must not reach the server; messages are read in English."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH")}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def account_for(data: Path) -> Account:
    """The account for the cluster in `data`, which may not exist yet."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), borrowed=False)
    owner = data.stat() if data.exists() else None
    if owner and owner.st_uid != 0:
        return Account(owner.st_uid, owner.st_gid, borrowed=True)
    for name in _UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, borrowed=True)
    raise PostgresError(
        "PostgreSQL does not run as root and this system has neither a user postgres nor nobody: "
        "start Whystop as another user, or set DATABASE_URL."
    )
