"""The turns of a filter with their attempts, newest first, a few in memory at a time: few enough for their texts, too.

Turns that are made while it is read are newer than those that are still to come, and are left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import F, Sum, TextField
from django.db.models.functions import Cast, Coalesce

from dashboard.agents.models import Project
from dashboard.exports.columns import ATTEMPT, TURN
from dashboard.turns.api_serializers import turns_json
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.prices.selectors import prices_of
from dashboard.turns.selectors import timeline
from dashboard.turns.text_budget import MOST, Bytes

PAGE = 100  #: turns that are found at once
TOGETHER = 200  #: attempts that are read at once; a turn that has more is read alone
APART = "tokens_estimated"  #: of an attempt, what no column of the database has
#: Of an attempt, what a file has. What else there is, such as the request and the raw answer, may be large.
READ = ("turn_id", *(column.name for column in ATTEMPT if column.name != APART))

Row = dict[str, Any]


def rows_of(*, project: Project, filters: TimelineFilters) -> Iterator[Row]:
    """Each turn by the names of `columns.TURN`. An order and a fold are of lists, and are not looked at."""
    plain = replace(filters, sort="", fold="")
    cursor: str | None = None
    while True:
        page = timeline(project=project, filters=plain, cursor=cursor, limit=PAGE)
        for turns in _together(page.items):
            yield from _rows(turns)
        if page.next is None:
            return
        cursor = page.next


def _together(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Groups whose attempts have `TOGETHER` rows and `MOST` bytes or less; a larger turn is a group of its own."""
    bytes_of = _bytes_of_attempts(turns)
    held, attempts, size = list[Turn](), 0, 0
    for turn in turns:
        attempts, size = attempts + turn.attempts, size + bytes_of.get(turn.id, 0)
        if held and (attempts > TOGETHER or size > MOST):
            yield held
            held, attempts, size = [], turn.attempts, bytes_of.get(turn.id, 0)
        held.append(turn)
    if held:
        yield held


def _bytes_of_attempts(turns: Sequence[Turn]) -> dict[UUID, int]:
    """Of what the attempts of each turn said. An answer that only the turn has (null) was read with the turn."""
    said = Coalesce(Bytes(F("text")), 0) + sum(
        Coalesce(Bytes(Cast(name, TextField())), 0) for name in ("tool_calls", "error")
    )
    asked = Attempt.objects.filter(turn_id__in=[turn.id for turn in turns]).order_by().values("turn_id")
    return {row["turn_id"]: row["size"] for row in asked.annotate(size=Sum(said))}


def _rows(turns: Sequence[Turn]) -> Iterator[Row]:
    prices = prices_of(turns)
    called: dict[UUID, list[Row]] = {turn.id: [] for turn in turns}
    untimed = {turn.id for turn in turns if turn.untimed}
    attempts = Attempt.objects.filter(turn_id__in=called).order_by("turn_id", "index").only(*READ)
    for attempt in attempts:
        called[attempt.turn_id].append(_attempt(attempt, untimed=attempt.turn_id in untimed))
    for turn, shown in zip(turns, turns_json(turns), strict=True):
        yield _turn(turn, shown, prices[turn.id], called[turn.id])


def _turn(turn: Turn, shown: Row, price: Any, attempts: list[Row]) -> Row:
    apart = {
        **shown,
        "cost_usd": None if price is None else float(price.dollars),
        "cost_estimated": None if price is None else price.estimated,
        "attempt_list": attempts,
    }
    return {column.name: apart[column.name] if column.name in apart else getattr(turn, column.name) for column in TURN}


def _attempt(attempt: Attempt, *, untimed: bool) -> Row:
    uncounted = attempt.usage is None and attempt.stop_reason is not None
    apart = {APART: uncounted, **({"duration_ms": None} if untimed else {})}
    return {one.name: apart[one.name] if one.name in apart else getattr(attempt, one.name) for one in ATTEMPT}
