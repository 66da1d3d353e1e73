"""All steps of a turn as compact JSON for the page, so that stepping never asks the server.

`{"rows": {table: [values…]}, "steps": [values…]}`: values stand in the order of `FIELDS`; what recurs (evaluations,
gauges, roads) stands once in its table, and steps name it by its place there. `static/js/steps_json.js` reads it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from dashboard.turns.step_view import StepView

WAY = ("trigger", "target", "guard", "miss", "stood", "shape")
#: The values of each table's rows.
ROWS: Mapping[str, tuple[str, ...]] = {
    "said": ("criterion", "key", "reason", "decision", "shape", "by"),
    "facts": ("name", "value"),
    "gauges": ("name", "used", "limit", "left", "heat", "value", "most"),
    "roads": WAY,
    "others": WAY,
}
#: The values of each step; those named in `ROWS` are lists of places.
FIELDS = ("number", "state", "source", "target", "trigger", "reason", "place", "at", "handling", *ROWS)
_ROW_VALUES = {table: attrgetter(*names) for table, names in ROWS.items()}
_PLAIN = attrgetter(*(name for name in FIELDS if name not in ROWS))


@dataclass(slots=True)
class Table:
    """Rows, each once."""

    rows: list[Sequence[Any]] = field(default_factory=list)
    places: dict[Any, int] = field(default_factory=dict)

    def place(self, row: Any, values_of: Callable[[Any], Sequence[Any]]) -> int:
        """Where the row stands; it is added where it is new."""
        if (place := self.places.get(row)) is None:
            place = self.places[row] = len(self.rows)
            self.rows.append(values_of(row))
        return place


def steps_json(steps: Iterable[StepView]) -> str:
    """The JSON text."""
    tables = {name: Table() for name in ROWS}
    packed = [[*_PLAIN(step), *_lists(step, tables)] for step in steps]
    rows = {name: table.rows for name, table in tables.items()}
    return json.dumps({"rows": rows, "steps": packed}, separators=(",", ":"), ensure_ascii=False)


def _lists(step: StepView, tables: Mapping[str, Table]) -> list[list[int]]:
    return [[table.place(row, _ROW_VALUES[name]) for row in getattr(step, name)] for name, table in tables.items()]
