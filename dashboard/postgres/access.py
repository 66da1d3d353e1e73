"""Who may connect to the server: processes of the very user that started it, whom the kernel names (`peer`).

The user that runs PostgreSQL, where that is another, may not. The rules stand outside its data folder and are written
again at each start, so a cluster from before them has them too.
"""

import os
import pwd
from collections.abc import Mapping

from dashboard.postgres.places import Home

_HEAD = "# Written at each start of the server; changes here are lost.\n"
#: For a user without a name, whom PostgreSQL cannot tell by it: the socket's folder is closed to all others.
_NAMELESS = "local all all trust\n"
_NAMED = "local all all peer map=starter\n"


def access_settings(home: Home) -> Mapping[str, str]:
    """Settings of the server with which it keeps these rules."""
    name = _own_name()
    files = {
        "hba_file": (home.folder / "pg_hba.conf", _NAMELESS if name is None else _NAMED),
        "ident_file": (home.folder / "pg_ident.conf", "" if name is None else f'starter "{name}" all\n'),
    }
    for path, rules in files.values():
        path.unlink(missing_ok=True)  # never written through a link, or into a file of somebody else's
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "w") as file:
            os.fchmod(descriptor, 0o644)  # whatever the umask: the server reads it as another user
            file.write(_HEAD + rules)
    return {setting: str(path) for setting, (path, _) in files.items()}


def _own_name() -> str | None:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None
