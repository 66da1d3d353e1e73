"""The file of a backup: a ZIP of these members. The manifest is last and holds the checksums of all others.

database.sql.zst   the tables of one moment, as SQL that psql reads, compressed
signing-key, …     the files of the data folder that a restore needs; absent where the environment holds the secret
manifest.json      `Manifest`

No other program is needed to get at the data: `unzip -p FILE database.sql.zst | zstd -d | psql …`.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from dashboard.platform.errors import StartError
from dashboard.platform.secret_key import SECRET_KEY_FILE
from dashboard.turns.seals.keys import AUDIT_HEAD_FILE, HEAD_FILE, KEY_FILE, LOST_FILE, RETIRED_FILE

FORMAT = "whystop-backup.1"
DATABASE, MANIFEST = "database.sql.zst", "manifest.json"
SECRETS = (KEY_FILE, SECRET_KEY_FILE)  #: of the files below, those that `--without-keys` leaves out
FILES = (HEAD_FILE, AUDIT_HEAD_FILE, LOST_FILE, RETIRED_FILE, *SECRETS)
PIECE = 1 << 20  #: bytes read and written at a time
_TABLE = re.compile(r"[a-z0-9_]{1,63}", re.ASCII)
_MOST_OF_A_FILE = 1 << 20  #: bytes of a member that is no database


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds and what it was made of."""

    made_at: str  #: ISO 8601, UTC
    core_version: str
    server_version: str  #: of PostgreSQL
    signing_key: str  #: the public key
    migrations: list[str]  #: `app.name` of each that was applied
    rows: dict[str, int]  #: by table, counted in the same snapshot
    variables: list[str]  #: names of the environment variables that were set; never their values
    sha256: dict[str, str]  #: by member
    format: str = FORMAT


class Writer:
    """A backup that is being written. The file appears under its name only once it is whole, readable by its owner."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
        self._sha256: dict[str, str] = {}

    def __enter__(self) -> "Writer":
        if self._path.exists():
            raise StartError(f"{self._path} exists already: name another file.")
        try:
            descriptor = os.open(self._unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise StartError(f"{self._path} cannot be written: {error.strerror}.") from error
        self._file = os.fdopen(descriptor, "wb")
        self._zip = ZipFile(self._file, "w", ZIP_STORED)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            with self._file:
                self._zip.close()
                self._file.flush()
                os.fsync(self._file.fileno())
            if kind is None:
                os.link(self._unfinished, self._path)  # never replaces a file that another process made meanwhile
        except FileExistsError:
            raise StartError(f"{self._path} exists already: name another file.") from None
        finally:
            self._unfinished.unlink(missing_ok=True)

    @contextlib.contextmanager
    def member(self, name: str) -> Iterator["_Hashed"]:
        """Write one member of any length."""
        with self._zip.open(ZipInfo(name), "w", force_zip64=True) as member:
            hashed = _Hashed(member)
            yield hashed
        self._sha256[name] = hashed.digest()

    def finish(self, **known: Any) -> None:
        """Write the manifest, as the last member; `known` is all of it but the checksums."""
        manifest = Manifest(**known, sha256=dict(self._sha256))
        self._zip.writestr(ZipInfo(MANIFEST), json.dumps(asdict(manifest), indent=1))


class _Hashed:
    """A file that is written to, and the hash of what was."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash = file, hashlib.sha256()

    def write(self, piece: bytes) -> int:
        self._hash.update(piece)
        return self._file.write(piece)

    def flush(self) -> None:
        self._file.flush()

    def digest(self) -> str:
        return self._hash.hexdigest()


class Archive:
    """A backup that is read. Opening it reads the manifest; `verify` reads all of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = ZipFile(path)
            self.manifest = _manifest(json.loads(self._small(MANIFEST)))
        except OSError as error:
            raise StartError(f"{path} cannot be read: {error.strerror}.") from error
        except (BadZipFile, KeyError, ValueError, TypeError) as error:
            raise StartError(f"{path} is not a Whystop backup, or is incomplete.") from error

    def verify(self) -> None:
        """Raises StartError unless every member is there and has its checksum."""
        if set(self._zip.namelist()) != {*self.manifest.sha256, MANIFEST} or DATABASE not in self.manifest.sha256:
            raise StartError(f"{self._path} is damaged: its members are not those of its manifest.")
        for name, expected in self.manifest.sha256.items():
            if self._digest(name) != expected:
                raise StartError(f"{self._path} is damaged: {name} differs from its checksum.")

    def _digest(self, name: str) -> str:
        found = hashlib.sha256()
        with contextlib.suppress(BadZipFile), self._zip.open(name) as member:
            while piece := member.read(PIECE):
                found.update(piece)
        return found.hexdigest()

    def database(self) -> IO[bytes]:
        """The dump, compressed."""
        return self._zip.open(DATABASE)

    def files(self) -> Mapping[str, str]:
        """The texts of the data folder's files, by name; of names that a backup may have."""
        return {name: self._small(name).decode() for name in FILES if name in self.manifest.sha256}

    def _small(self, name: str) -> bytes:
        """A member that is no database. Raises StartError where it is as large as one."""
        if self._zip.getinfo(name).file_size > _MOST_OF_A_FILE:
            raise StartError(f"{self._path} is not a backup of Whystop: {name} is too large.")
        return self._zip.read(name)


def _manifest(read: dict[str, Any]) -> Manifest:
    if read.get("format") != FORMAT:
        raise ValueError("another format")
    manifest = Manifest(**read)
    if not all(_is_of(name, value) for name, value in asdict(manifest).items()):
        raise ValueError("another type")
    return manifest


def _is_of(name: str, value: object) -> bool:
    """Whether it is what `Manifest` says: the file may be anybody's."""
    if name == "rows":
        counts = value.items() if isinstance(value, dict) else [("", None)]
        return all(_TABLE.fullmatch(table) and type(rows) is int and rows >= 0 for table, rows in counts)
    if name == "sha256":
        return isinstance(value, dict) and all(isinstance(digest, str) for digest in value.values())
    if name in ("migrations", "variables"):
        return isinstance(value, list) and all(isinstance(word, str) for word in value)
    return isinstance(value, str)
