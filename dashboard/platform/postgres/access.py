"""Who may connect to the server: the user that started it, the owner of the folder around it, and root.

The kernel says whose process asks (`peer`). The user that runs PostgreSQL, where that is none of them, may not. The
rules stand outside its data folder and are written at each start, so a cluster from before them has them too.
"""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from dashboard.platform.postgres.paths import ClusterPaths

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
