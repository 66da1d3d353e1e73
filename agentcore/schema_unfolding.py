"""How often compiling a JSON Schema follows its references, counted before it is compiled.

For `unevaluatedProperties` and `unevaluatedItems` a validator needs to know what the subschemas beside them judge. It
writes these out anew for each of them, along every path of references: 20 subschemas that refer to the next one twice
are a million, and compiling cannot be stopped. All else is compiled once, however often it is referred to.
"""

from collections.abc import Mapping
from typing import Any

from agentcore.schema_cost import AGAIN, Names, beside
from agentcore.schema_size import TooMuchWork, Walk, check, parts_of, walked

MOST_UNFOLDED = 5_000  #: subschemas that are written out, of which each takes some 10 to 50 µs and 4 KB
UNFOLDED = (
    f"The subschemas beside unevaluatedProperties and unevaluatedItems may be at most {MOST_UNFOLDED:,}, each counted "
    "as often as references lead to it, and may not lead back to themselves. Refer to fewer, or leave out unevaluated…."
)


def check_before_compiling(schema: Any) -> None:
    """Raises `TooMuchWork` for a schema that would take too long, or too much memory, to compile."""
    check(schema)
    if any(map(_is_asking, parts_of(schema))):
        _Unfolding(schema).check()


def _is_asking(part: Any) -> bool:
    return isinstance(part, Mapping) and any(word in part for word in AGAIN)


class _Unfolding:
    def __init__(self, schema: Any) -> None:
        self._names = Names(schema)
        self._known: dict[int, int] = {}

    def check(self) -> None:
        taken = 0
        for part in filter(_is_asking, parts_of(self._names.root)):
            known = self._known.get(id(part))
            taken = _bounded(taken + (walked(self._unfolded(part)) if known is None else known))

    def _unfolded(self, schema: Mapping[str, Any]) -> Walk:
        """How many subschemas judge the same value, itself included."""
        self._known[id(schema)] = MOST_UNFOLDED + 1  # for who leads back to it meanwhile
        taken = 1
        for part in beside(schema, self._names):
            known = self._known.get(id(part)) if isinstance(part, Mapping) else 1
            taken = _bounded(taken + ((yield self._unfolded(part)) if known is None else known))
        self._known[id(schema)] = taken
        return taken


def _bounded(taken: int) -> int:
    if taken > MOST_UNFOLDED:
        raise TooMuchWork(UNFOLDED)
    return taken


__all__ = ["MOST_UNFOLDED", "check_before_compiling"]
