"""From bytes of any origin to a `TurnFile`. All that is wrong is a `ValidationError` by field, in words."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from django.core.exceptions import ValidationError
from pydantic import ValidationError as ShapeError

from dashboard.agents.json_value_count import holds_more_values
from dashboard.ingest.turn_files.file_schema import FORMAT, VERSION, TurnFile

_JSON_BEGINS = b'{["-0123456789tfn'

MAX_BYTES = 64_000_000
MAX_DEPTH = 200  #: of objects and lists in each other; pages and judges walk them by recursion
MAX_FAULTS = 20  #: told at once
TOO_LARGE = f"A turn file may have at most {MAX_BYTES:,} bytes; this one has more."

#: What a field of the wrong shape is told, by pydantic's word for it.
SHAPE_WORDS: Mapping[str, str] = {
    "missing": "It is missing.",
    "extra_forbidden": "There is no such field in a turn file of this version.",
    "string_type": "It must be text.",
    "string_unicode": "It must be text without unpaired surrogates.",
    "string_too_long": "It must have at most {max_length} characters.",
    "string_too_short": "It must not be empty.",
    "int_type": "It must be a whole number.",
    "dict_type": "It must be an object.",
    "model_type": "It must be an object.",
    "list_type": "It must be a list.",
    "too_long": "It must have at most {max_length} entries.",
    "greater_than_equal": "It must be at least {ge}.",
    "less_than_equal": "It must be at most {le}.",
    "literal_error": "It must be one of {expected}.",
}
MAX_VALUES = 1_000_000
TOO_MANY_VALUES = f"A turn file may hold {MAX_VALUES:,} values; this one holds more."


def check_values(content: bytes) -> None:
    """Raises `ValidationError` where the text would become more than `MAX_VALUES` values."""
    if holds_more_values(content, MAX_VALUES):
        raise ValidationError(TOO_MANY_VALUES)


def read_file(content: bytes) -> TurnFile:
    """The file these bytes are."""
    if len(content) > MAX_BYTES:
        raise ValidationError(TOO_LARGE)
    check_values(content)
    data = _json(content)
    _known(data)
    try:
        file = TurnFile.model_validate(data)
    except ShapeError as error:
        raise ValidationError(dict(_faults(error))) from error
    if digest_of(data["turn"]) != file.sha256:
        raise ValidationError({"sha256": "The checksum does not match the turn: the file was changed or damaged."})
    return file


def digest_of(happened: Any) -> str:
    """SHA-256 of the `turn` of a file: as JSON in ASCII, keys sorted, no blanks."""
    text = json.dumps(happened, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def beginning_check(head: bytes) -> None:
    """Raise the error of an import for a file whose first bytes cannot begin JSON; an empty file is one."""
    begins = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1]
    if not head or (begins and begins not in _JSON_BEGINS):
        _json(head)


def _json(content: bytes) -> Any:
    try:
        data = json.loads(content.decode("utf-8-sig"), parse_constant=_refused, parse_float=_finite)
    except RecursionError as error:
        raise ValidationError(_too_deep()) from error
    except ValueError as error:  # a decoding error is one too
        raise ValidationError(f"This is not a turn file: it is not JSON ({_short(error)}).") from error
    if _depth_exceeds(data, MAX_DEPTH):
        raise ValidationError(_too_deep())
    return data


def _refused(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _refused(digits[:20])


def _short(error: ValueError) -> str:
    return str(error).split("\n", maxsplit=1)[0][:120]


def _too_deep() -> str:
    return f"Values in this file are nested more than {MAX_DEPTH} levels deep, which is not supported."


def _depth_exceeds(value: Any, most: int) -> bool:
    """Level by level, for recursion is what this guards."""
    level = [value]
    for _ in range(most):
        level = [inner for outer in level for inner in _parts(outer)]
        if not level:
            return False
    return True


def _parts(value: Any) -> Iterator[Any]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (part for part in parts if isinstance(part, dict | list))


def _known(data: Any) -> None:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValidationError(f"This is not a turn file: its “format” is not “{FORMAT}”.")
    version = data.get("version")
    if type(version) is not int or version != VERSION:
        said = str(version)[:20]
        raise ValidationError(
            {"version": f"This file has format version {said}; this installation reads version {VERSION}."}
        )


def _faults(error: ShapeError) -> Iterator[tuple[str, str]]:
    for fault in error.errors(include_url=False, include_input=False)[:MAX_FAULTS]:
        place = ".".join(str(part)[:40] for part in fault["loc"])
        words = SHAPE_WORDS.get(fault["type"], fault["msg"].removeprefix("Value error, ").rstrip(".") + ".")
        yield place, words.format_map({**fault.get("ctx", {})}) if fault["type"] in SHAPE_WORDS else words
