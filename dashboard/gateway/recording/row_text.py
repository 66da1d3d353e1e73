"""A row as JSON text, as Postgres takes it: what it takes in no text is marked in JSON and replaced in text."""

import json
import re
from functools import cache
from typing import Any

from django.db import models as orm
from pydantic_core import PydanticSerializationError, to_json

from dashboard.platform.fields import MARK, ExactJSONField, storable_json, storable_text
from dashboard.turns.row_mapping import Columns

#: What `storable_json` marks with; where it is in a text itself, it is marked too.
_MARK = MARK.encode()
#: A float that jsonb would give back as another number.
_LARGE = re.compile(rb"[\[:,]-?\d(?:\.\d+)?e\+\d")


def row_text(model: type[orm.Model], columns: Columns) -> bytes:
    """The columns as a JSON object, in UTF-8."""
    try:
        written = to_json(columns)
    except PydanticSerializationError:  # a lone surrogate, or a type that it does not know
        return _storable(model, columns)
    # The first byte of each is looked for first, for that takes next to nothing.
    if (b"\\" in written and b"\\u0000" in written) or (_MARK[:1] in written and _MARK in written):
        return _storable(model, columns)
    if b"-0.0" in written or (b"e+" in written and _LARGE.search(written)):
        return _storable(model, columns)
    return written


def _storable(model: type[orm.Model], columns: Columns) -> bytes:
    """The same as the model's fields write it."""
    exact = _json_columns(model)
    told = (f"{json.dumps(name)}:{_value(value, exact=name in exact)}" for name, value in columns.items())
    return f"{{{','.join(told)}}}".encode()


def _value(value: Any, *, exact: bool) -> str:
    if exact and value is not None:
        return storable_json(value)
    return json.dumps(storable_text(value) if isinstance(value, str) else value, default=str)


@cache
def _json_columns(model: type[orm.Model]) -> frozenset[str]:
    fields = {str(field.column): field for field in model._meta.concrete_fields}
    return frozenset(name for name, field in fields.items() if isinstance(field, ExactJSONField))
