"""JSON from people and programs, as RFC 8259 and Postgres have it: what either refuses is refused here, in words."""

import json
from typing import Any

from django import forms
from pydantic_core import from_json

BEYOND = "a number is larger than any that can be kept, such as 1e999"
NUL = "it holds the character U+0000, which Postgres keeps in no text"


def read_strictly(text: str | bytes) -> Any:
    """The value. Raises `ValueError`; also for NaN, numbers out of range, endless nesting and halves of characters."""
    value = from_json(text, allow_inf_nan=False)
    try:
        json.dumps(value, allow_nan=False)  # 1e999 is read as a number that no JSON can hold
    except ValueError as error:
        raise ValueError(BEYOND) from error
    return value


class StrictDecoder(json.JSONDecoder):
    """The same for fields of Django's forms, whose values go into columns that take no U+0000 either."""

    def decode(self, s: str, *_: Any) -> Any:
        try:
            value = read_strictly(s)
        except ValueError as error:
            raise json.JSONDecodeError(str(error), s, 0) from error
        if "\\u0000" in json.dumps(value).replace(r"\\", ""):
            raise json.JSONDecodeError(NUL, s, 0)
        return value


def read_fields_strictly(form: forms.BaseForm) -> None:
    """Have all JSON of a form read so."""
    for field in form.fields.values():
        if isinstance(field, forms.JSONField):
            field.decoder = StrictDecoder
