"""Columns for what models and providers say, which may hold what Postgres takes in no text: U+0000 and lone surrogates.

`ExactJSONField` gives back what was put in. `ShownTextField` is for showing and searching: it puts U+FFFD in the place
of such a character, for the truth stands in the records and in the raw bytes. `KeptOnceField` is such text, which the
database may keep elsewhere.
"""

import json
import re
from typing import Any

from django.db import models

#: In stored JSON this character of private use is always followed by four hex digits, and they are what it stands for.
MARK = "\ue000"
#: In JSON of ASCII: an escaped backslash, a pair of surrogates (both stay), and what must be marked.
ESCAPES = re.compile(r"\\\\|\\ud[89ab]..\\ud[c-f]..|\\u(0000|d[89a-f]..|e000)")
MARKED = re.compile(MARK + r"([0-9a-f]{4})")
#: A text to pass over, or a number that jsonb gives back as another: 1e22 as a whole one, -0.0 without its sign. A text
#: is matched without a way back, which would take a hundred bytes for each escape in it.
FLOATS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?\d+(?:\.\d+)?e\+\d+|-0\.0(?!\d)')
#: jsonb has no sign of zero. No text is stored so, for four hex digits follow each mark in a text.
MINUS_ZERO = f'"{MARK}-0.0"'
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable_json(value: Any) -> str:
    """JSON text Postgres takes as jsonb; `exact_json` reads it back. For writers that go past the ORM (COPY)."""
    text = json.dumps(value, separators=(",", ":"))
    marked = ESCAPES.sub(lambda found: MARK + found[1] if found[1] else found[0], text)
    return FLOATS.sub(_float, marked) if "e+" in marked or "-0.0" in marked else marked


def _float(found: re.Match[str]) -> str:
    """The number with all its digits and a fraction, by which jsonb keeps it a float."""
    text = found[0]
    if text.startswith('"'):
        return text
    return MINUS_ZERO if text == "-0.0" else f"{float(text):.1f}"


def exact_json(text: str) -> Any:
    """The value `storable_json` was given, from the text Postgres gives for it."""
    return json.loads(MARKED.sub(r"\\u\1", text.replace(MINUS_ZERO, "-0.0")))


def storable_text(text: str) -> str:
    """The text with U+FFFD for each character Postgres does not take."""
    if text.isascii() and "\0" not in text:
        return text  # as most are; to look at each character takes fifty times as long
    return UNSTORABLE.sub("\ufffd", text)


def as_stored(value: Any) -> Any:
    """The value as a column of text gives it back; any other as it is."""
    return storable_text(value) if isinstance(value, str) else value


class ExactEncoder(json.JSONEncoder):
    def encode(self, o: Any) -> str:
        return storable_json(o)


class ExactDecoder(json.JSONDecoder):
    def decode(self, s: str, *_: Any) -> Any:
        return exact_json(s)


class ExactJSONField(models.JSONField):
    """jsonb that gives back exactly the strings and numbers it was given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "encoder": ExactEncoder, "decoder": ExactDecoder})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        del kwargs["encoder"], kwargs["decoder"]
        return name, path, args, kwargs


class ShownTextField(models.TextField):  # type: ignore[type-arg]
    """Text of any origin, to be shown and searched."""

    def get_prep_value(self, value: Any) -> Any:
        prepared = super().get_prep_value(value)
        return storable_text(prepared) if isinstance(prepared, str) else prepared


class KeptOnceField(ShownTextField):
    """Text that stands elsewhere too. Where its column is null, it is read from there, also by `values_list`; a
    condition on it does not see what is elsewhere.

    `elsewhere`: the SQL of it, with `{row}` for the row that has the column.
    """

    def __init__(self, *args: Any, elsewhere: str = "", **kwargs: Any) -> None:
        self.elsewhere = elsewhere
        super().__init__(*args, **{**kwargs, "null": True})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "elsewhere": self.elsewhere}

    def select_format(self, _compiler: Any, sql: str, params: Any) -> Any:
        row, _, column = sql.rpartition(".")
        if column != f'"{self.column}"':
            return sql, params
        return f"coalesce({sql}, ({self.elsewhere.format(row=row)}))", params
