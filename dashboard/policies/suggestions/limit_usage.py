"""How much of a limit an agent's turns used; for turns that did not complete, at least so much."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Length as Characters

from agentcore.reasons import NormalizedStopReason, TurnStatus
from agentcore.values import replace
from dashboard.agents.models import Project
from dashboard.policies.backtests.answer_lengths import MOST, lengths_of, lengths_of_each, one_per_family
from dashboard.policies.backtests.batched_queries import rows_of_each
from dashboard.policies.backtests.survival import Length
from dashboard.policies.suggestions.used_amounts import CALLS
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.indexes import TOOK
from dashboard.turns.models import UNFINISHED, Attempt, Turn
from dashboard.turns.provider_words import stored
from dashboard.turns.read_ahead import once, read_ahead
from dashboard.turns.selectors import turns_matching

LATELY = 5.0
MOST_REMEMBERED = 200
_ITERATIONS = Attempt.objects.filter(turn_id=OuterRef("pk")).order_by("-index").values("iteration")[:1]
#: What a turn used of each limit but `max_tokens`, whose lengths of answers are those of the page of limits.
USED: Mapping[str, Any] = {
    "max_continuations": F("continuations"),
    "max_total_completion_tokens": F("output_tokens"),
    "max_total_output_chars": Characters("output_text"),
    "max_tool_repair_attempts": F("tool_repairs"),
    "max_steps": Subquery(_ITERATIONS),
    "max_total_tokens": F("tokens"),
    "max_seconds": TOOK,
    "schema_rounds": F("envelope_retries"),
}


#: Parts of a limit's unit in which its usage is counted: most turns take less than a second.
SCALE: Mapping[str, int] = {"max_seconds": 1000}


class TooSlowError(Exception):
    """What turns used of a limit was not found in time. Later it may be."""


class UsageOf(Protocol):
    """`usage_of`, or what remembers its answers."""

    def __call__(self, *, turn: Turn, limit: str, filters: TimelineFilters) -> tuple[Length, ...]: ...


_usage_cache: dict[tuple[object, ...], tuple[float, tuple[Length, ...]]] = {}


def usage_lately(*, turn: Turn, limit: str, filters: TimelineFilters) -> tuple[Length, ...]:
    """As `usage_of`, at most `LATELY` seconds old: the rows of a list ask the same one after the other. Raises
    `TooSlowError`."""
    key, ahead = (turn.project_id, limit, filters), read_ahead().usage
    used: tuple[Length, ...] | None = ahead.get(key)
    if used is None and key in ahead:
        raise TooSlowError
    if used is None:
        used = _fresh(key)
    if used is None:
        used = usage_of(turn=turn, limit=limit, filters=filters)
        _remember(key, used)
    return used


def _fresh(key: tuple[object, ...]) -> tuple[Length, ...] | None:
    """What is remembered, and not too old. Taken once: another thread may forget it at any moment."""
    known = _usage_cache.get(key)
    return known[1] if known is not None and time.monotonic() - known[0] <= LATELY else None


def _remember(key: tuple[object, ...], used: tuple[Length, ...]) -> None:
    if len(_usage_cache) >= MOST_REMEMBERED:
        _usage_cache.clear()
    _usage_cache[key] = (time.monotonic(), used)


def usage_of(*, turn: Turn, limit: str, filters: TimelineFilters) -> tuple[Length, ...]:
    """What each of these turns used of a limit, in parts of its unit (`SCALE`); none where the limit is not one that is
    counted so."""
    return once(("usage", turn.project_id, limit, filters), lambda: _usage_of(turn.project, limit, filters))


def _usage_of(project: Project, limit: str, filters: TimelineFilters) -> tuple[Length, ...]:
    if limit == "max_tokens":
        return lengths_of(project=project, filters=filters)
    if limit == CALLS:
        return _call_lengths(project, filters)
    return _lengths(project, USED[limit], filters) if limit in USED else ()


def alike(turn: Turn) -> tuple[TimelineFilters, TimelineFilters]:
    """The turns of the same agent and model, and all those of the model."""
    of_model = TimelineFilters(provider=(stored(turn.provider),), model=(turn.model,))
    return replace(of_model, agent=(turn.agent_name,)), of_model


def usage_of_list(asked: Iterable[tuple[Turn, str]]) -> dict[tuple[object, ...], tuple[Length, ...] | None]:
    """What turns like these used of a limit each, for `usage_lately`: by few statements for each limit. None
    where that took too long: the other turns of the list have theirs."""
    wanted = defaultdict[tuple[UUID, str], dict[TimelineFilters, Project]](dict)
    known: dict[tuple[object, ...], tuple[Length, ...] | None] = {}
    for turn, limit in asked:
        for filters in alike(turn) if limit in ("max_tokens", CALLS) or limit in USED else ():
            key = (turn.project_id, limit, filters)
            if (used := _fresh(key)) is not None:
                known[key] = used
            else:
                wanted[turn.project_id, limit][filters] = turn.project
    for (project_id, limit), found in wanted.items():
        asked_for, project = list(found), next(iter(found.values()))
        for each, used in zip(asked_for, _used_by_each(project, limit, asked_for), strict=True):
            known[project_id, limit, each] = used
            if used is not None:
                _remember((project_id, limit, each), used)
    return known


def _used_by_each(project: Project, limit: str, filters: Sequence[TimelineFilters]) -> list[tuple[Length, ...] | None]:
    """None where it took too long to find."""
    if limit == "max_tokens":
        return lengths_of_each(project=project, filters=filters)
    if limit == CALLS:
        return [_call_lengths(project, each) for each in filters]
    found = rows_of_each([_rows(project, USED[limit], each) for each in filters], _TOLD)
    return [None if rows is None else _lengths_in(rows) for rows in found]


def usage_of_none(**_: object) -> tuple[Length, ...]:
    """As `usage_of` where other turns are not to be searched."""
    return ()


def _lengths(project: Project, used: Any, filters: TimelineFilters) -> tuple[Length, ...]:
    return _lengths_in(_rows(project, used, filters).values_list(*_TOLD))


def _rows(project: Project, used: Any, filters: TimelineFilters) -> QuerySet[Turn]:
    turns = turns_matching(project=project, filters=filters).exclude(status__in=UNFINISHED).order_by("-id")
    return turns.annotate(used=used).exclude(used=None)[:MOST]


#: The columns that `_lengths_in` reads.
_TOLD = ("id", "parent_id", "used", "status", "output_tokens")


def _lengths_in(rows: Iterable[tuple[Any, ...]]) -> tuple[Length, ...]:
    return _once(
        (turn, parent, Length(int(used), _is_complete(status), output)) for turn, parent, used, status, output in rows
    )


def _call_lengths(project: Project, filters: TimelineFilters) -> tuple[Length, ...]:
    """The tokens of each call that returned tool calls, the oldest turn first. Of a turn and its re-runs those of one
    count, as of answers."""
    turns = turns_matching(project=project, filters=filters).exclude(status__in=UNFINISHED).order_by("-id")
    found = {
        turn: (parent, said) for turn, parent, said in turns.values_list("id", "parent_id", "output_tokens")[:MOST]
    }
    made = Attempt.objects.filter(turn_id__in=found, error__isnull=True).exclude(tool_calls=[])
    lengths = defaultdict[UUID, list[Length]](list)
    for turn_id, calls, usage, reason in made.values_list("turn_id", "tool_calls", "usage", "stop_reason"):
        if tokens := (usage or {}).get("output_tokens"):
            is_cut = reason == NormalizedStopReason.MAX_TOKENS or any(call.get("issue") for call in calls)
            lengths[turn_id].append(Length(tokens, not is_cut, found[turn_id][1]))
    kept = one_per_family([(each, found[each][0], lengths[each]) for each in found if each in lengths], _longest)
    return tuple(length for each in kept for length in each)


def _longest(lengths: Sequence[Length]) -> Length:
    """Of the calls of one turn."""
    return max(lengths, key=lambda length: (length.ended, length.tokens))


def _once(turns: Iterable[tuple[UUID, UUID | None, Length]]) -> tuple[Length, ...]:
    return tuple(one_per_family(list(turns), lambda length: length))


def _is_complete(status: str) -> bool:
    return status == TurnStatus.COMPLETED
