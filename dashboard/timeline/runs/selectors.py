"""Runs as they are listed and told. A run that is not there raises `Turn.DoesNotExist`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from dashboard.agents.models import Project
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.models.turn import RunSums
from dashboard.turns.prices.rates import Price
from dashboard.turns.prices.selectors import prices_of
from dashboard.turns.run_fold import sums_of
from dashboard.turns.selectors import DEFAULT_LIMIT, UNLISTED, Page, timeline

MOST_TURNS = 500  #: of one run that are told; the newest ones

Shown = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """A run with its turns, oldest first, of a very long one the newest."""

    sums: RunSums
    turns: Sequence[Turn]
    prices: dict[UUID, Price | None]

    @property
    def left_out(self) -> int:
        """Turns at its beginning that are not among them."""
        return self.sums.turns - len(self.turns)

    @property
    def price(self) -> Price | None:
        """Of these turns together; None where the price of one is not known."""
        return _together(self.prices.values())


def turns_of(run_id: UUID, *, project: Project) -> QuerySet[Turn]:
    """All turns of a run; none where there is no such run."""
    return Turn.objects.filter(Q(id=run_id, run_id=None) | Q(run_id=run_id), project=project)


def run_get(run_id: UUID, *, project: Project) -> Run:
    """One run with its turns."""
    beside = ("policy_version", "agent__connection", "origin__imported_by")
    found = turns_of(run_id, project=project).select_related(*beside).defer(*UNLISTED)
    turns = list(found.order_by("-id")[:MOST_TURNS])[::-1]
    if not turns:
        raise Turn.DoesNotExist(f"There is no run {run_id}.")
    return Run(sums_of([run_id])[run_id], turns, prices_of(turns))


def stamp_of(run_id: UUID, *, project: Project) -> tuple[Any, ...]:
    """What tells whether anything about a run has changed, by what is cheap to read."""
    return tuple(turns_of(run_id, project=project).order_by("id").values_list("id", "last_seq", "status"))


def run_page(
    *, project: Project, filters: TimelineFilters, cursor: str | None = None, limit: int = DEFAULT_LIMIT
) -> tuple[list[Shown], Page]:
    """Runs that have turns which the filters let through, the one with the newest such turn first."""
    page = timeline(project=project, filters=replace(filters, fold="runs"), cursor=cursor, limit=limit, beginning=0)
    sums = sums_of(turn.run for turn in page.items)
    return [run_shown(sums[turn.run], turn) for turn in page.items], page


def run_shown(sums: RunSums, newest: Turn) -> Shown:
    """The run as the API lists it."""
    return {
        "id": sums.id,
        "turns": sums.turns,
        "input_tokens": sums.input_tokens,
        "output_tokens": sums.output_tokens,
        "tokens_estimated": sums.tokens_estimated,
        "started_at": sums.started_at,
        "last_at": sums.last_at,
        "unfinished": sums.unfinished,
        "newest_turn": newest.id,
    }


def _together(prices: Iterable[Price | None]) -> Price | None:
    known = list(prices)
    if not known or None in known:
        return None
    each = [price for price in known if price is not None]
    bases = "; ".join(dict.fromkeys(price.basis for price in each if price.basis))
    return Price(sum((price.dollars for price in each), Decimal(0)), any(price.estimated for price in each), bases)
