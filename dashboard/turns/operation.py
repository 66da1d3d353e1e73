"""What is known of a turn under way beside its history: its place in line, and what its operator asked for.

`live`, which drives turns, provides it (`platform.provided`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from agentcore.snapshot import Snapshot
from dashboard.platform.provided import Provided
from dashboard.turns.models import Turn


@dataclass(frozen=True, slots=True)
class Operation:
    """Functions of one turn."""

    waiting_words: Callable[[UUID], str | None]  #: where its call stands in line; None where it does not
    operator_view: Callable[[Turn, Snapshot], object]  #: what the operator's controls show, by its last snapshot
    refused_of: Callable[[Turn], Sequence[object]]  #: what was asked for last and could not be done


operation = Provided[Operation]("what is known of a turn under way")
