"""What the recording of a turn answers, as the client is told: the turn under other limits, and one limit over a range.

No provider is asked. Every answer says how certain it is: `recorded`, `certain`, `estimated` (with what it assumes) or
`undecidable` (with both endings, where assumptions decide).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from .values import Json, Overrides, read_as


@dataclass(frozen=True, slots=True)
class Assumption:
    """A range that an estimate takes for granted, and where it comes from. The unit is that of its name. `came_true`:
    the share of estimates that came true where it does not hold, 0 to 1; None where nine in ten or more did."""

    name: str
    low: float
    high: float
    source: str
    came_true: float | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A turn as it would have been. `endings`: where assumptions decide, the turn at the smaller and at the larger
    end of their ranges; else none. `why`: the reason why it is undecidable; None where it is not. `json`: all that the
    server told."""

    status: str
    terminal_reason: str | None
    output_text: str
    verdict: str
    attempts: int
    continuations: int
    input_tokens: int
    output_tokens: int
    certainty: str
    assumes: tuple[Assumption, ...]
    steps: Sequence[Json]
    endings: tuple["WhatIf", ...]
    why: str | None
    json: Json

    @classmethod
    def read(cls, shown: Json) -> "WhatIf":
        assumes = tuple(read_as(Assumption, each) for each in shown["assumes"])
        return read_as(cls, shown, assumes=assumes, endings=tuple(map(cls.read, shown.get("endings", ()))), json=shown)


class Replays:
    """What a turn can be asked of its recording."""

    __slots__ = ()
    if TYPE_CHECKING:
        _connection: Any

        def _path(self, part: str = "") -> str: ...

    def what_if(self, **overrides: Unpack[Overrides]) -> WhatIf:
        """The turn under other words."""
        return WhatIf.read(self._replayed("what_if", overrides=overrides))

    def sweep(self, limit: str, begin: int, end: int, *, step: int = 1, **overrides: Unpack[Overrides]) -> Json:
        """The turn at each value of one limit: `certain` and `likely` say from where on it completes."""
        return self._replayed("sweep", limit=limit, begin=begin, end=end, step=step, overrides=overrides)

    def _replayed(self, mode: str, **asked: Any) -> Json:
        found: Json = self._connection.server.call("POST", self._path("/replay"), {"mode": mode, **asked})
        return found
