"""How much of a limit an agent's turns used; for turns that did not complete, at least so much."""

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol
from uuid import UUID

from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Length as Characters

from agentcore.reasons import TurnStatus
from dashboard.agents.models import Project
from dashboard.policies.backtests.answer_lengths import MOST, lengths_of
from dashboard.policies.backtests.survival import Length
from dashboard.policies.backtests.turn_families import one_per_family
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.held_time import held_ms_of
from dashboard.turns.models import UNFINISHED, Attempt, Turn
from dashboard.turns.selectors import turns_matching

LATELY = 5.0
MOST_REMEMBERED = 200
_ITERATIONS = Attempt.objects.filter(turn_id=OuterRef("pk")).order_by("-index").values("iteration")[:1]
#: What a turn used of each limit but `max_tokens`, whose lengths of answers are those of the page of limits, and
#: `max_seconds`.
USED: Mapping[str, Any] = {
    "max_continuations": F("continuations"),
    "max_total_completion_tokens": F("output_tokens"),
    "max_total_output_chars": Characters("output_text"),
    "max_tool_repair_attempts": F("tool_repairs"),
    "max_steps": Subquery(_ITERATIONS),
    "max_total_tokens": F("tokens"),
    "schema_rounds": F("envelope_retries"),
}


class UsageOf(Protocol):
    """`usage_of`, or what remembers its answers."""

    def __call__(self, *, turn: Turn, limit: str, filters: TimelineFilters) -> tuple[Length, ...]: ...


_remembered: dict[tuple[object, ...], tuple[float, tuple[Length, ...]]] = {}


def usage_lately(*, turn: Turn, limit: str, filters: TimelineFilters) -> tuple[Length, ...]:
    """As `usage_of`, at most `LATELY` seconds old: the rows of a list ask the same one after the other."""
    key, now = (turn.project_id, limit, filters), time.monotonic()
    known = _remembered.get(key)
    if known is None or now - known[0] > LATELY:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        known = _remembered[key] = (now, usage_of(turn=turn, limit=limit, filters=filters))
    return known[1]


def usage_of(*, turn: Turn, limit: str, filters: TimelineFilters) -> tuple[Length, ...]:
    """What each of these turns used of a limit; none where the limit is not one that is counted so."""
    if limit == "max_tokens":
        return lengths_of(project=turn.project, filters=filters)
    if limit == "max_seconds":
        return _seconds(turn.project, filters)
    return _lengths(turn.project, USED[limit], filters) if limit in USED else ()


def usage_of_none(**_: object) -> tuple[Length, ...]:
    """As `usage_of` where other turns are not to be searched."""
    return ()


def _lengths(project: Project, used: Any, filters: TimelineFilters) -> tuple[Length, ...]:
    turns = turns_matching(project=project, filters=filters).exclude(status__in=UNFINISHED).order_by("-id")
    rows = turns.annotate(used=used).exclude(used=None).values_list("id", "parent_id", "used", "status")[:MOST]
    return _once((turn, parent, Length(int(used), _is_complete(status))) for turn, parent, used, status in rows)


def _seconds(project: Project, filters: TimelineFilters) -> tuple[Length, ...]:
    """How long turns took, without the time for which they were held: no limit counts it."""
    turns = turns_matching(project=project, filters=filters).exclude(status__in=UNFINISHED).order_by("-id")
    found = list(turns.exclude(duration_ms=None).only("id", "parent_id", "duration_ms", "status")[:MOST])
    held = held_ms_of(found)

    def taken_by(turn: Turn) -> Length:
        milliseconds = max(0, (turn.duration_ms or 0) - held.get(turn.id, 0))
        return Length(math.ceil(milliseconds / 1000), _is_complete(turn.status))

    return _once((turn.id, turn.parent_id, taken_by(turn)) for turn in found)


def _once(turns: Iterable[tuple[UUID, UUID | None, Length]]) -> tuple[Length, ...]:
    return tuple(one_per_family(list(turns), lambda length: length))


def _is_complete(status: str) -> bool:
    return status == TurnStatus.COMPLETED
