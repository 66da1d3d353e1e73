"""Many turns from one ZIP of turn files, such as `zip_export` makes; each is imported, or refused, by itself.

A ZIP is a stranger's: what it says of its own sizes is not believed, and nothing is unpacked beyond what is read here.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from django.core.exceptions import ValidationError

from dashboard.accounts.models import User
from dashboard.ingest.turn_files.file_reader import MAX_BYTES, TOO_LARGE
from dashboard.ingest.turn_files.services import Import, turn_import
from dashboard.ingest.turn_files.zip_export import LEFT_OUT, MOST_BYTES, MOST_TURNS

BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")  #: of a ZIP, and of one that holds nothing
LISTED = b"PK\x01\x02"  #: stands before each entry of a ZIP's list
MOST_LISTED = 1_000  #: entries, beyond which the list is not even read; chance makes a few in packed bytes
MOST_FILES = MOST_TURNS + 1  #: with the one that tells what was left out
ENCRYPTED = 0x1
MOST_UNPACKED = 32_000_000  #: bytes of all files together, or, where that is more,
MOST_RATIO = 100  #: as many times the bytes of the ZIP
NAME = 100  #: characters of a file's name that are told
FULL = "The files before it have {:,} bytes or more. Import it separately."
NO_ROOM = (
    "Together with the files before it, it unpacks to too many bytes for a ZIP of this size. Import it separately."
)
UNREADABLE = "This ZIP cannot be read: it, or its directory, is damaged."
TOO_MANY = f"A ZIP may hold {MOST_TURNS} turn files; this one holds more."


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one file: `made`, or the faults for which it was refused, as where and what."""

    name: str
    made: Import | None = None
    faults: tuple[tuple[str, str], ...] = ()

    @property
    def word(self) -> str:
        if self.made is None:
            return "refused"
        return "imported" if self.made.fresh else "imported before"


def is_bundle(content: bytes) -> bool:
    return content.startswith(BEGINNINGS)


def bundle_import(
    *, content: bytes, by: User | None = None, unverified: bool = False, most_bytes: int = MOST_BYTES
) -> tuple[FileOutcome, ...]:
    """Import each file of the ZIP in the order of names, so that our own come oldest first and find their parents.

    Raises `ValidationError` in words where it is no ZIP, holds too many files or none; then nothing is stored.
    """
    return tuple(bundle_outcomes(content=content, by=by, unverified=unverified, most_bytes=most_bytes))


def bundle_outcomes(
    *, content: bytes, by: User | None = None, unverified: bool = False, most_bytes: int = MOST_BYTES
) -> Iterator[FileOutcome]:
    """As `bundle_import`, each outcome as soon as it is there."""
    if content.count(LISTED) > MOST_LISTED:
        raise ValidationError(TOO_MANY)
    try:
        packed = ZipFile(BytesIO(content))
    except (BadZipFile, ValueError, NotImplementedError) as error:
        raise ValidationError(UNREADABLE) from error
    with packed:
        files = [info for info in packed.infolist() if not info.is_dir()]
        if len(files) > MOST_FILES:
            raise ValidationError(TOO_MANY)
        files = [info for info in files if info.filename != LEFT_OUT]
        if not files:
            raise ValidationError("This ZIP contains no files.")
        most_unpacked = max(MOST_UNPACKED, MOST_RATIO * len(content))
        for name, unpacked in _contents(packed, files, most_bytes, most_unpacked):
            if isinstance(unpacked, ValidationError):
                yield FileOutcome(name, faults=faults_of(unpacked))
            else:
                yield outcome_of(name, unpacked, by=by, unverified=unverified)


def _contents(
    packed: ZipFile, files: list[ZipInfo], most_bytes: int, most_unpacked: int
) -> Iterator[tuple[str, bytes | ValidationError]]:
    """The name of each file with its content, or with why that is not read."""
    size = 0
    for info in sorted(files, key=_name):
        try:
            if size >= most_bytes:
                raise ValidationError(FULL.format(most_bytes))
            content = _unpacked(packed, info, most_unpacked - size)
        except ValidationError as error:
            yield _name(info), error
            continue
        size += len(content)
        yield _name(info), content


def outcome_of(name: str, content: bytes, *, by: User | None, unverified: bool) -> FileOutcome:
    """What becomes of one turn file."""
    try:
        return FileOutcome(name, turn_import(content=content, by=by, unverified=unverified))
    except ValidationError as error:
        return FileOutcome(name, faults=faults_of(error))


def _name(info: ZipInfo) -> str:
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in info.filename)
    return shown if len(shown) <= NAME else f"{shown[:NAME]}…"


def _unpacked(packed: ZipFile, info: ZipInfo, room: int) -> bytes:
    """At most `MAX_BYTES` of a file, and what there is room for, whatever its size is said to be."""
    if info.flag_bits & ENCRYPTED:
        raise ValidationError("It is encrypted; create it without a password.")
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise ValidationError("Its compression is not supported; use “deflate”, the usual one.")
    try:
        with packed.open(info) as file:
            content = file.read(min(MAX_BYTES, room) + 1)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError) as error:
        raise ValidationError("It is damaged: it cannot be decompressed.") from error
    if len(content) > MAX_BYTES:
        raise ValidationError(TOO_LARGE)
    if len(content) > room:
        raise ValidationError(NO_ROOM)
    return content


def faults_of(error: ValidationError) -> tuple[tuple[str, str], ...]:
    """Where and what, for people; the place is empty for what is wrong with the whole."""
    by_field = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
    return tuple(("" if place == "__all__" else place, words) for place, all_ in by_field.items() for words in all_)
