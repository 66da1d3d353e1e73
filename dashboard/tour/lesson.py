"""One lesson of the tour."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Lesson:
    """`says`: the sentence that tells what to look at. `overrides`: as `turn_start` takes them.

    `after`: the lesson whose turn this one runs again, once that has ended; from the state after the record
    `from_record`, or from the start.
    """

    key: str
    title: str
    says: str
    agent: str
    prompt: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    after: str = ""
    from_record: int | None = None
