"""What the stored calls of a model bear out: what a continuation repeats, how much it reasons, how truncation is told.

A what-if bounds its assumptions with these (design §3.9). They are read from the newest continuations of a project's
turns of one provider and model, and kept for a minute in each process: a backtest asks for them once a minute and
model, not once a turn.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from agentcore.continuation_merge import merge_continuation
from agentcore.prefill import goes_on_exactly
from agentcore.reasons import AttemptKind, NormalizedStopReason
from agentcore.replay import Experience, Observed, Pace
from agentcore.replay.certainty import LEAST_CALLS
from agentcore.replay.recorded_calls import shows_counting
from agentcore.usage import slack
from dashboard.agents.models import Project
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.id_range import id_range_of
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.provider_words import stored
from dashboard.turns.shared_values import UNREADABLE
from dashboard.turns.turn_query import find

TURNS = 200  #: the newest with a continuation that are read
MOST = 300  #: continuations that count
KEPT_SECONDS = 60.0
KEPT_MODELS = 256
SHARE = 0.95
PACED_TURNS = 50  #: the newest, whose calls tell how long a call takes
PACED_CALLS = 3  #: at least: nothing is decided by it
LEAST_PACED = 10  #: tokens of a call that tells what each of them takes
ENDS_AT_CAP = 3  #: turns said to have ended, with all tokens used, that show a server which calls a cut an end


class AttemptSample(NamedTuple):
    """One attempt, as far as it tells of repeats and reasoning. `usage` is None where the provider reported none."""

    turn_id: UUID
    iteration: int
    kind: str
    text: str
    usage: dict[str, Any] | None
    max_tokens: int | None  #: None: none was sent
    stop_reason: str | None

    @property
    def counts_reasoning(self) -> bool | None:
        """Whether its reasoning counted towards `max_tokens`; None where it does not show."""
        if self.max_tokens is None:
            return None
        usage, cut = self.usage or {}, self.stop_reason == NormalizedStopReason.MAX_TOKENS
        return shows_counting(self.max_tokens, usage.get("output_tokens"), usage.get("reasoning_tokens") or 0, cut=cut)

    @property
    def unreported(self) -> int | None:
        """Tokens that counted towards `max_tokens` and were not reported; None where it does not show."""
        if self.max_tokens is None or self.reports_all is None:
            return None
        left = self.max_tokens - (self.usage or {}).get("output_tokens", 0)
        return left if left > slack(self.max_tokens) else 0

    @property
    def reports_all(self) -> bool | None:
        """Whether it was cut at just the tokens that it reported; None where it does not show."""
        if self.stop_reason != NormalizedStopReason.MAX_TOKENS or self.usage is None or self.max_tokens is None:
            return None
        return bool(self.usage.get("output_tokens", 0) >= self.max_tokens)


@dataclass(slots=True)
class _Found:
    repeats: list[float] = field(default_factory=list)
    reasoning: list[float] = field(default_factory=list)
    counts_reasoning: set[bool] = field(default_factory=set)
    reports_all: list[bool] = field(default_factory=list)
    unreported: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Kept:
    """What was read, by project, provider and model, with when."""

    found: dict[tuple[UUID, str, str], tuple[float, Experience]] = field(default_factory=dict)

    def get(self, project: Project, provider: str, model: str) -> Experience:
        key, now = (project.pk, provider, model), time.monotonic()
        read_at, experience = self.found.get(key, (None, Experience()))
        if read_at is None or now - read_at > KEPT_SECONDS:
            experience = experience_read(project=project, provider=provider, model=model)
            if len(self.found) >= KEPT_MODELS:
                self.found.clear()
            self.found[key] = (now, experience)
        return experience

    def forget(self) -> None:
        self.found.clear()


kept = _Kept()


def experience_of(*, project: Project, provider: str, model: str) -> Experience:
    """The experience with a model, as it was within the last minute."""
    return kept.get(project, provider, model)


def experience_read(*, project: Project, provider: str, model: str) -> Experience:
    """The experience of a model, read from the database."""
    found = _Found()
    for turn in _turns(project, provider, model):
        with suppress(*UNREADABLE):  # a damaged turn shows nothing, and keeps nobody from the others
            _count(turn, found)
        if len(found.reasoning) >= MOST:
            break
    counts = found.counts_reasoning
    return Experience(
        repeats=_observed(found.repeats),
        reasoning=_observed(found.reasoning),
        counts_reasoning=counts.pop() if len(counts) == 1 else None,
        reports_all=all(found.reports_all) if len(found.reports_all) >= LEAST_CALLS else None,
        unreported=_observed(found.unreported),
        tells_cuts=_tells_cuts(project, provider, model, cuts=bool(found.reports_all)),
        pace=_pace_of(project, provider, model),
    )


def _pace_of(project: Project, provider: str, model: str) -> Pace | None:
    """From the newest streamed answers, of which it is known when their first token came; None where they are few."""
    of_model = TimelineFilters(provider=(stored(provider),), model=(model,))
    found = find(project=project, filters=of_model, reach=id_range_of(of_model), limit=PACED_TURNS)
    timed = Attempt.objects.filter(turn_id__in=[turn_id for turn_id, _ in found], error__isnull=True)
    rows = timed.exclude(first_token_ms=None).exclude(duration_ms=None)
    told: Any = rows.values_list("first_token_ms", "duration_ms", "usage")
    calls = [(first, took, (usage or {}).get("output_tokens") or 0) for first, took, usage in told]
    tokens = [(took - first) / said for first, took, said in calls if said >= LEAST_PACED and took >= first]
    if len(tokens) < PACED_CALLS:
        return None
    return Pace(median(first for first, _, _ in calls) / 1000, median(tokens) / 1000)


def _tells_cuts(project: Project, provider: str, model: str, *, cuts: bool) -> bool | None:
    """Whether a truncated answer is reported as one. `cuts`: one of the continued turns shows that."""
    of_model = TimelineFilters(provider=(stored(provider),), model=(model,))
    if cuts or _some(project, replace(of_model, model_stop_reason=(NormalizedStopReason.MAX_TOKENS,)), 1):
        return True
    return False if _some(project, replace(of_model, lint=("output_at_cap",)), ENDS_AT_CAP) else None


def _some(project: Project, filters: TimelineFilters, count: int) -> bool:
    """Whether there are so many turns of this kind."""
    return len(list(find(project=project, filters=filters, reach=id_range_of(filters), limit=count))) >= count


@dataclass(frozen=True, slots=True)
class _Turn:
    said: tuple[AttemptSample, ...]
    exact: bool  #: its connection continues by prefill: nothing it repeats is dropped


def _turns(project: Project, provider: str, model: str) -> Iterator[_Turn]:
    """The newest turns with a continuation first. Forks begin in the middle of a parent's answer, and structured
    answers are not continued by joining: both are left out."""
    filters = TimelineFilters(provider=(stored(provider),), model=(model,), has=("continuation",))
    ids = [turn_id for turn_id, _ in find(project=project, filters=filters, reach=id_range_of(filters), limit=TURNS)]
    rows = Turn.objects.filter(id__in=ids, base_snapshot__isnull=True).values_list("id", "setup")
    exact = {}
    for turn_id, began in rows:
        with suppress(*UNREADABLE):
            setup = began.get("setup") or {}
            if not setup.get("envelope_schema"):
                exact[turn_id] = goes_on_exactly(provider, model, setup.get("extra") or {})
    columns = ("turn_id", "iteration", "kind", "text", "usage", "max_tokens", "stop_reason")
    attempts = Attempt.objects.filter(turn_id__in=exact).order_by("-turn_id", "index")
    said = (AttemptSample(*row) for row in attempts.values_list(*columns).iterator(chunk_size=MOST))
    for turn_id, group in groupby(said, key=attrgetter("turn_id")):
        yield _Turn(tuple(group), exact[turn_id])


def _count(turn: _Turn, found: _Found) -> None:
    for _, group in groupby(turn.said, key=attrgetter("iteration")):
        text = ""
        for said in group:
            merge = merge_continuation(text, said.text)
            if said.kind == AttemptKind.CONTINUATION and said.usage:
                _count_one(said, merge.overlap if text else 0, turn.exact, found)
            text = merge.text
            if (counts := said.counts_reasoning) is not None:
                found.counts_reasoning.add(counts)
            if (all_told := said.reports_all) is not None:
                found.reports_all.append(all_told)
                found.unreported.append(said.unreported or 0)


def _count_one(said: AttemptSample, dropped: int, exact: bool, found: _Found) -> None:
    usage = said.usage or {}
    reasoning = usage.get("reasoning_tokens") or 0
    found.reasoning.append(reasoning)
    if said.text and not exact:
        found.repeats.append(max(0, usage.get("output_tokens", 0) - reasoning) * dropped / len(said.text))


def _observed(figures: list[float]) -> Observed | None:
    """None where the calls are too few to bound anything."""
    if len(figures) < LEAST_CALLS:
        return None
    place = -(-len(figures) * round(100 * SHARE) // 100) - 1
    return Observed(sorted(figures)[place], len(figures))
