"""Many turns as one ZIP of turn files, each of which imports by itself."""

from collections.abc import Sequence
from tempfile import SpooledTemporaryFile
from typing import IO
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile

from django.core.exceptions import ValidationError

from dashboard.ingest.turn_files.file_export import file_text, turn_file
from dashboard.live.services import TurnConflict
from dashboard.turns.models import Turn
from dashboard.turns.selectors import turn_get

MOST_TURNS = 200
MOST_BYTES = 256_000_000  #: of all files together, before they are packed
IN_MEMORY = 8_000_000  #: bytes, above which the ZIP stands in a temporary file
LEFT_OUT = "left-out.txt"
FULL = "The files before it have {most:,} bytes or more. Export it separately."


def turns_bundle(ids: Sequence[UUID], *, most_bytes: int = MOST_BYTES) -> IO[bytes]:
    """The ZIP, at its beginning. What could not be exported is told in its `left-out.txt`.

    Raises `ValidationError` in words where these are too many turns, or none.
    """
    if not 0 < len(ids) <= MOST_TURNS:
        raise ValidationError(f"Choose 1 to {MOST_TURNS} turns to export, not {len(ids):,}.")
    bundle: IO[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - who sends it closes it
    with ZipFile(bundle, "w", ZIP_DEFLATED) as packed:
        left_out, size = [], 0
        for turn_id in ids:
            text, why = _text(turn_id) if size < most_bytes else ("", FULL.format(most=most_bytes))
            size += len(text)
            if why:
                left_out.append(f"{turn_id}: {why}\n")
            else:
                packed.writestr(f"turn-{turn_id}.json", text)
        if left_out:
            packed.writestr(LEFT_OUT, "".join(left_out))
    bundle.seek(0)
    return bundle


def _text(turn_id: UUID) -> tuple[str, str]:
    """The file's text, or why there is none."""
    try:
        return file_text(turn_file(turn_get(turn_id))), ""
    except Turn.DoesNotExist:
        return "", "This turn was erased."
    except TurnConflict as error:
        return "", str(error)
    except ValidationError as error:
        return "", " ".join(error.messages)
