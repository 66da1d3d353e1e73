"""What the turns of a run come to together."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class RunSums:
    """Totals over all turns of one run."""

    id: UUID
    turns: int
    input_tokens: int
    output_tokens: int
    tokens_estimated: bool
    started_at: datetime
    last_at: datetime
    unfinished: bool
