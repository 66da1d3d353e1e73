"""A row as JSON text, as Postgres takes it: what it takes in no text is marked in JSON and replaced in text."""

import json
from functools import cache

from django.db import models as orm
from pydantic_core import PydanticSerializationError, to_json

from dashboard.platform.fields import MARK, ExactJSONField, storable_json, storable_text
from dashboard.turns.row_mapping import Columns

#: What `storable_json` marks with; where it is in a text itself, it is marked too.
_MARK = MARK.encode()


def row_text(model: type[orm.Model], columns: Columns) -> bytes:
    """The columns as a JSON object, in UTF-8."""
    try:
        written = to_json(columns)
    except PydanticSerializationError:  # a lone surrogate, or a type that it does not know
        return _storable(model, columns)
    # The first byte of each is looked for first, for that takes next to nothing.
    if (b"\\" in written and b"\\u0000" in written) or (_MARK[:1] in written and _MARK in written):
        return _storable(model, columns)
    return written


def _storable(model: type[orm.Model], columns: Columns) -> bytes:
    """The same as the model's fields write it."""
    exact = _json_columns(model)
    storable = {
        name: json.loads(storable_json(value))
        if name in exact and value is not None
        else storable_text(value)
        if isinstance(value, str)
        else value
        for name, value in columns.items()
    }
    return json.dumps(storable, default=str).encode()


@cache
def _json_columns(model: type[orm.Model]) -> frozenset[str]:
    fields = {str(field.column): field for field in model._meta.concrete_fields}
    return frozenset(name for name, field in fields.items() if isinstance(field, ExactJSONField))
