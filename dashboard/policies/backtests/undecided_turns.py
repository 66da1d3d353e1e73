"""Undecidable turns by reason, as pages and the terminal show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dashboard.policies.backtests.debugger import debugger_of
from dashboard.policies.backtests.tallies import Undecided
from dashboard.policies.backtests.turn_judgement import DraftPolicy
from dashboard.turns.certainty_text import undecided_in_words
from dashboard.turns.models import Turn

SHOWN = 5  #: turns of one reason that are listed


@dataclass(frozen=True, slots=True)
class UndecidedTurn:
    turn: Turn
    debugger: str  #: the query of its replay under the draft


@dataclass(frozen=True, slots=True)
class ReasonView:
    """One reason: how many turns are undecidable for it, and the first of them."""

    why: str
    count: int
    turns: tuple[UndecidedTurn, ...]

    @property
    def words(self) -> str:
        return undecided_in_words(self.why)


def reasons_view(
    whys: Mapping[str, int] | None, named: Sequence[Undecided], draft: DraftPolicy
) -> tuple[ReasonView, ...]:
    """Each reason, in the order of `whys`; none where reasons were not counted. Turns that were erased are left out."""
    by_why = {why: [UUID(turn.turn) for turn in named if turn.why == why][:SHOWN] for why in whys or {}}
    listed = [turn_id for turn_ids in by_why.values() for turn_id in turn_ids]
    turns, asked = Turn.objects.in_bulk(listed), debugger_of(draft, listed)
    return tuple(
        ReasonView(
            why,
            count,
            tuple(UndecidedTurn(turns[id_], asked.get(id_, "")) for id_ in by_why[why] if id_ in turns),
        )
        for why, count in (whys or {}).items()
    )
