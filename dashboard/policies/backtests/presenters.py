"""A backtest as its page shows it. The undecidable share stands in every figure; a flip claims no good end.

Also holds undecidable turns by reason, as pages and the terminal show them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentcore.policy import LIMIT_NAMES
from dashboard.agents.samples import is_simulated
from dashboard.policies.backtests.debugger import beyond_in_words, debugger_of
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.outcome_looks import HOWS, LOOKS
from dashboard.policies.backtests.result_text import difference_in_words, percent, sure_counts
from dashboard.policies.backtests.selectors import whys_of
from dashboard.policies.backtests.tallies import SURE, Flip, Group, Undecided
from dashboard.policies.backtests.tried_versions import TriedVersion, tried_versions
from dashboard.policies.backtests.turn_judgement import DraftPolicy
from dashboard.timeline.chips import Chip, chips_of
from dashboard.turns.certainty_text import undecided_in_words
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.prices.templatetags.prices import dollars_in_words
from dashboard.turns.timeline_page import address_of, query_of

LISTED = 5  #: turns of one reason that are listed


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
    by_why = {why: [UUID(turn.turn) for turn in named if turn.why == why][:LISTED] for why in whys or {}}
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


SHOWN = 100  #: flipped turns that are listed
WIDTH = 600.0  #: of the bar, in units of its viewBox


@dataclass(frozen=True, slots=True)
class Slice:
    """Turns of one outcome, and where their part of the bar lies."""

    name: str
    count: int
    of: int
    x: float
    width: float

    @property
    def words(self) -> str:
        return LOOKS[self.name][0]

    @property
    def always(self) -> bool:
        """Whether it is said even where it is none."""
        return self.name not in HOWS or self.name in ("same", "undecidable")

    @property
    def hue(self) -> str:
        return LOOKS[self.name][1]

    @property
    def shape(self) -> str:
        return LOOKS[self.name][2]

    @property
    def percent(self) -> str:
        return percent(self.count, self.of)


@dataclass(frozen=True, slots=True)
class GroupView:
    """One provider and model, or all."""

    group: Group
    slices: tuple[Slice, ...]
    sure: tuple[Slice, ...]  #: the same turns by how certain that is

    @property
    def certain(self) -> int:
        """Without those that a re-run has proven."""
        return (self.group.certain or 0) - self.group.proven

    @property
    def later(self) -> int:
        """Of those gone on, those that are not known to complete."""
        return self.group.gone_on - (self.group.completed or 0)

    @property
    def dollars(self) -> str:
        return signed(self.group.dollars, dollars_in_words)

    @property
    def decided(self) -> int:
        return self.group.turns - self.group.undecidable

    @property
    def undecidable(self) -> int:
        """Of which not even that is known, that they would have continued."""
        return self.group.undecidable - self.group.unended

    @property
    def priced(self) -> bool:
        return self.group.unpriced < self.decided


@dataclass(frozen=True, slots=True)
class FlipView:
    flip: Flip
    turn: Turn | None  #: None: erased since
    debugger: str  #: the query of its replay under the draft

    @property
    def words(self) -> str:
        return HOWS[self.flip.how]

    @property
    def difference(self) -> str:
        """`2 calls fewer, 126 tokens fewer`; empty where it is none."""
        about = self.flip.about is not False
        return difference_in_words(calls=self.flip.calls, tokens=self.flip.tokens, about=about)


@dataclass(frozen=True, slots=True)
class BacktestView:
    backtest: Backtest
    whole: GroupView
    groups: tuple[GroupView, ...]
    flips: tuple[FlipView, ...]
    reasons: tuple[ReasonView, ...]  #: why turns are undecidable
    overridden: tuple[Turn, ...]  #: the first turns whose own overrides decide
    chips: tuple[Chip, ...]
    address: str  #: of its turns in the timeline
    tried: TriedVersion | None  #: None: unsaved settings

    @property
    def waiting(self) -> bool:
        return self.backtest.waits

    @property
    def simulated(self) -> bool:
        """Whether all its turns ran on the simulator, so that none has a price."""
        return all(is_simulated(row.group.model) for row in self.groups)

    @property
    def free(self) -> int:
        """How many of the turns with a known end ran on the simulator."""
        return sum(row.group.unpriced for row in self.groups if is_simulated(row.group.model))

    @property
    def unpriced(self) -> int:
        """How many of them ran elsewhere, at a price that is not known."""
        return self.backtest.unpriced - self.free

    @property
    def beyond(self) -> str:
        return beyond_in_words(self.backtest.policy)

    @property
    def draft(self) -> list[tuple[str, str]]:
        """What was tried, as far as it is not a default, in words."""
        asked = {"max_tokens": self.backtest.max_tokens, **(self.backtest.policy.get("limits") or {})}
        said = {name: value for name, value in self.backtest.policy.items() if name != "limits" and value}
        given = {name: value for name, value in (asked | said).items() if value is not None}
        return [(LIMIT_NAMES.get(name, name), _told(value)) for name, value in given.items()]


def _told(value: Any) -> str:
    """A part of a draft, without the signs in which programs write it."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(item)}" for name, item in value.items() if item is not None)
    if isinstance(value, list):
        return ", ".join(map(_told, value))
    return f"{value:,}" if type(value) is int else str(value)


def signed(amount: float, words: Any) -> str:
    """`+$1.20`, `−$0.30`, `$0`."""
    from decimal import Decimal

    said = words(Decimal(str(abs(round(amount, 9)))))
    return f"+{said}" if amount > 0 else f"−{said}" if amount < 0 else str(said)


def backtest_view(backtest: Backtest) -> BacktestView:
    """With its flipped and its undecidable turns."""
    return view_of(backtest, tried_versions([backtest]).get(backtest.pk))


def backtest_views(backtests: Sequence[Backtest]) -> list[BacktestView]:
    """As a list shows them, without their turns."""
    tried = tried_versions(backtests)
    return [view_of(backtest, tried.get(backtest.pk), flips=False) for backtest in backtests]


def view_of(backtest: Backtest, tried: TriedVersion | None, *, flips: bool = True) -> BacktestView:
    filters, _ = TimelineFilters.parse(backtest.filter)
    groups = [Group.stored(group) for group in backtest.groups]
    return BacktestView(
        backtest,
        group_view(_whole(backtest, groups)),
        tuple(map(group_view, groups)),
        tuple(_flips(backtest)) if flips else (),
        reasons_of(backtest) if flips else (),
        _overridden(groups) if flips else (),
        chips_of(filters),
        address_of(query_of(filters)),
        tried,
    )


def _overridden(groups: Sequence[Group]) -> tuple[Turn, ...]:
    named = sorted(turn for group in groups for turn in group.overridden_turns)[:LISTED]
    return tuple(Turn.objects.filter(id__in=named).only("id", "input_text").order_by("id"))


def _whole(backtest: Backtest, groups: list[Group]) -> Group:
    whole = Group("", "", same=backtest.same, flipped=backtest.flipped, undecidable=backtest.undecidable)
    whole.tokens, whole.calls, whole.seconds = backtest.tokens_delta, backtest.calls_delta, backtest.seconds_delta
    whole.dollars, whole.unpriced = backtest.dollars_delta, backtest.unpriced
    whole.recorded, whole.certain, whole.estimated = backtest.recorded, backtest.certain, backtest.estimated
    for name in ("gone_on", "sooner", "unended", "watched", "proven", "overridden"):
        setattr(whole, name, sum(getattr(group, name) for group in groups))
    completed = [group.completed for group in groups]
    whole.completed = None if None in completed else sum(count or 0 for count in completed)
    whole.about = None if any(group.about is None for group in groups) else sum(group.about or 0 for group in groups)
    return whole


def reasons_of(backtest: Backtest) -> tuple[ReasonView, ...]:
    """Why its undecidable turns are; empty where some were judged before reasons were counted."""
    named = [Undecided(**turn) for turn in backtest.undecided]
    return reasons_view(whys_of(backtest), named, DraftPolicy.of(backtest))


def group_view(group: Group) -> GroupView:
    """Counts with their part of the bar."""
    completed = group.completed or 0
    counts = {"same": group.same, "completed": completed, "gone_on": group.gone_on - completed}
    counts |= {"unended": group.unended, "sooner": group.sooner}
    counts |= {"otherwise": group.otherwise, "undecidable": group.undecidable - group.unended}
    return GroupView(group, tuple(_slices(group, counts)), tuple(_slices(group, _certainties(group))))


def _certainties(group: Group) -> dict[str, int]:
    """The counts, each turn once. What is not known of some is told of all: a part would read as the whole."""
    known = sure_counts({name: getattr(group, name) for name in (*SURE, "proven")})
    unknown = {} if known else {"unknown": group.turns - group.undecidable}
    unended = {"unended": group.unended} if group.unended else {}
    return {**known, **unknown, **unended, "undecidable": group.undecidable - group.unended}


def _slices(group: Group, counts: Mapping[str, int]) -> list[Slice]:
    slices, x = [], 0.0
    for name, count in counts.items():
        share = count / group.turns if group.turns else 0.0
        slices.append(Slice(name, count, group.turns, round(x, 2), round(WIDTH * share, 2)))
        x += WIDTH * share
    return slices


def _flips(backtest: Backtest) -> list[FlipView]:
    named = [Flip(**flip) for flip in backtest.flips[:SHOWN]]
    turns = {str(turn.id): turn for turn in Turn.objects.filter(id__in=[flip.turn for flip in named])}
    asked = debugger_of(DraftPolicy.of(backtest), [turn.id for turn in turns.values()])
    queries = {str(turn_id): query for turn_id, query in asked.items()}
    return [FlipView(flip, turns.get(flip.turn), queries.get(flip.turn, "")) for flip in named]
