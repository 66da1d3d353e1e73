"""Two turns side by side: what they were asked with, what they did, what they said, and what it took."""

from dataclasses import dataclass

from dashboard.replay.comparison.figures import Figure, Measured, figures_of
from dashboard.replay.comparison.path_comparison import PathDiff, path_diff
from dashboard.replay.comparison.request_fields import Field, fields_of
from dashboard.replay.comparison.word_comparison import WordDiff, word_diff
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.prices.selectors import prices_of
from dashboard.turns.selectors import attempts_of
from dashboard.turns.time_breakdown import held_ms_of
from dashboard.turns.turn_view import TurnView, turn_view


@dataclass(frozen=True, slots=True)
class Comparison:
    """`fields` that differ come first."""

    left: TurnView
    right: TurnView
    fields: tuple[Field, ...]
    path: PathDiff
    answer: WordDiff
    figures: tuple[Figure, ...]

    @property
    def different(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if not field.same)

    @property
    def alike(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.same)

    @property
    def unfinished(self) -> bool:
        """Whether one of them may still say more."""
        return any(side.turn.status in UNFINISHED for side in (self.left, self.right))


def comparison_of(left: Turn, right: Turn) -> Comparison:
    """Both histories are read and judged again."""
    one, other = turn_view(left), turn_view(right)
    return Comparison(
        left=one,
        right=other,
        fields=fields_of(left, one.shown, right, other.shown),
        path=path_diff(
            one.shown.moments, other.shown.moments, forked_at=(_forked_at(left, right), _forked_at(right, left))
        ),
        answer=word_diff(left.output_text, right.output_text),
        figures=figures_of(*_measured(left, right)),
    )


def _forked_at(parent: Turn, child: Turn) -> int:
    """The parent's record from which the child went on; 0 where it did not, or began anew."""
    is_fork = child.parent_id == parent.pk and child.base_snapshot is not None
    return child.forked_at or 0 if is_fork else 0


def _measured(left: Turn, right: Turn) -> tuple[Measured, Measured]:
    prices, held = prices_of([left, right]), held_ms_of([left, right])
    for turn in (left, right):
        turn.held_ms = held.get(turn.id, 0)
    one, other = (Measured(turn, attempts_of(turn.id).first(), prices[turn.id]) for turn in (left, right))
    return one, other
