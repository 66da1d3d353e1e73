"""The attempts of a turn, a page at a time: a turn may have hundreds."""

from dataclasses import dataclass
from uuid import UUID

from dashboard.turns.models import Attempt
from dashboard.turns.selectors import attempts_of

LENGTH = 50
#: Columns that may be large and that the list does not show.
UNLISTED = ("request", "text", "tool_calls", "request_sha256")


@dataclass(frozen=True, slots=True)
class AttemptsPage:
    """Some attempts in order. `number` counts pages from 1; `count` is that of all attempts."""

    rows: tuple[Attempt, ...]
    number: int
    count: int

    @property
    def pages(self) -> int:
        return max(1, -(-self.count // LENGTH))

    @property
    def several(self) -> bool:
        return self.pages > 1

    @property
    def previous(self) -> int:
        """0 where there is none."""
        return self.number - 1

    @property
    def next(self) -> int:
        """0 where there is none."""
        return self.number + 1 if self.number < self.pages else 0


def attempts_page(turn_id: UUID, *, number: int | None = None, attempt: int = 1) -> AttemptsPage:
    """Page `number`, or the one with `attempt` on it; the nearest where it is not there."""
    rows = attempts_of(turn_id)
    count = rows.count()
    last = max(1, -(-count // LENGTH))
    wanted = (max(1, attempt) - 1) // LENGTH + 1 if number is None else number
    page = max(1, min(wanted, last))
    start = (page - 1) * LENGTH
    return AttemptsPage(tuple(rows.defer(*UNLISTED)[start : start + LENGTH]), page, count)
