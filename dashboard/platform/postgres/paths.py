"""Where a cluster lives: which folder, which sockets, which locks."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dashboard.platform.postgres.errors import PostgresError, told_in_a_sentence
from dashboard.platform.postgres.os_account import Account, account_for

#: For root, when the user that runs PostgreSQL cannot get to the data folder.
SYSTEM_FOLDER = Path("/var/lib/whystop")

# The kernel takes 107 bytes on Linux and 103 on macOS for the whole path of a socket.
_LONGEST_SOCKET_PATH = 103
_SOCKET_NAME = ".s.PGSQL.5432"


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    """The folder around one cluster. It is ours; only `data` and the socket folder belong to the account."""

    folder: Path
    account: Account
    moved_from: Path | None  #: the data folder's own place, when it is closed to the account

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def start_lock(self) -> Path:
        return self.folder / "start.lock"

    @property
    def share_lock(self) -> Path:
        return self.folder / "share.lock"


def find_cluster_paths(data_dir: Path, *, system_folder: Path = SYSTEM_FOLDER) -> ClusterPaths:
    """Makes the folder for the cluster of `data_dir` where the account can reach it."""
    wanted = data_dir.resolve() / "postgres"
    with told_in_a_sentence(data_dir):
        account = account_for(wanted / "data")
        _make(wanted.parent)
        _make(wanted)
        if account.reaches(wanted):
            return ClusterPaths(wanted, account, moved_from=None)
    key = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]
    elsewhere = system_folder / key
    with told_in_a_sentence(elsewhere):
        _make(system_folder)
        _make(elsewhere)
    account = account_for(elsewhere / "data")
    if not account.reaches(elsewhere):
        raise PostgresError(
            f"The user that runs PostgreSQL reaches neither {wanted} nor {elsewhere}: "
            "name another folder in WHYSTOP_DATA_DIR."
        )
    return ClusterPaths(elsewhere, account, moved_from=wanted)


def _make(folder: Path) -> None:
    """Makes a folder others may pass through but not list; one that exists stays as it is."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise PostgresError(f"{folder} is a file, not a folder: name another one in WHYSTOP_DATA_DIR.") from None
    else:
        folder.chmod(0o711)


def make_socket_folder(home: ClusterPaths) -> Path:
    """A folder only the account may enter, beside the data or, where that path will not do, in a short one."""
    beside = home.folder / "run"
    key = hashlib.sha256(os.fsencode(home.folder)).hexdigest()[:12]
    short = f"whystop-{home.account.uid}-{key}"
    for folder in (beside, Path(tempfile.gettempdir()) / short, Path("/tmp") / short):  # noqa: S108 - owner checked
        # To a client a comma parts one host from the next.
        if len(os.fsencode(folder / _SOCKET_NAME)) > _LONGEST_SOCKET_PATH or "," in str(folder):
            continue
        if folder != beside and not home.account.reaches(folder.parent):
            continue
        _make_private(folder, home.account)
        return folder
    raise PostgresError(f"No folder has a path that does for PostgreSQL's socket: name one shorter than {beside}.")


def _make_private(folder: Path, account: Account) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        if not folder.is_dir() or folder.is_symlink() or found.st_uid not in (account.uid, os.geteuid()):
            raise PostgresError(
                f"The socket folder {folder} belongs to another user: remove it and start again."
            ) from None
    account.own(folder)
