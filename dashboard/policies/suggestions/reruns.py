"""Turns that were asked the same as another, and tried the limit in question and nothing else."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from agentcore import serial
from agentcore.reasons import NormalizedStopReason, TurnStatus
from agentcore.values import replace
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.policies.backtests.proofs import CompletedRerun
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.relatives import relatives_of, settings_changed
from dashboard.policies.suggestions.repaired_calls import repaired_calls
from dashboard.policies.suggestions.suggestion import Goal
from dashboard.replay.endings import was_changed
from dashboard.replay.sweep_point import CAPPING, margin_of
from dashboard.turns.end_summary import may_be_cut
from dashboard.turns.history import attempts_read, attempts_read_ahead
from dashboard.turns.models import UNFINISHED, Attempt, Record, Turn
from dashboard.turns.read_ahead import once, read_ahead
from dashboard.turns.record_reader import acts_of

#: Errors of an envelope that more of a limit did not help. Another failure is the provider's, and tells nothing.
INVALID = frozenset({"envelope_invalid", "envelope_truncation_unrecoverable"})
#: Limits that say nothing of whether a larger cap is enough: they end a turn of however few or many calls.
APART = frozenset({"max_steps", "max_seconds", "max_total_output_chars"})
#: How much a re-run used of the limits that count what it wrote, by its row. Where one of them ended it, and it had
#: used all of another, both were too small.
WROTE: Mapping[str, Callable[[Turn], int]] = {
    "max_tokens": lambda turn: turn.output_tokens,
    "max_continuations": lambda turn: turn.continuations,
    "max_total_completion_tokens": lambda turn: turn.output_tokens,
    "max_total_tokens": lambda turn: turn.input_tokens + turn.output_tokens,
}
#: How a re-run ended that was not enough either, by the limit; an answer was cut off by any other.
FAILING = {
    "max_retries": "failed",
    "schema_rounds": "had no valid answer",
    "max_seconds": "ran out of time",
    "max_steps": "needed more",
    "max_tool_repair_attempts": "needed more",
}


@dataclass(frozen=True, slots=True)
class LimitTrial:
    """A re-run, and the value of the limit that it was given."""

    value: int
    turn: Turn
    limit: str
    is_original: bool = False  #: not a re-run, but the turn that is run again
    beside: Mapping[str, Any] = field(default_factory=dict)  #: other settings that it was given, with their values
    goal: Goal = Goal.FINISH  #: what the value is tried for
    whole: bool = False  #: the same answer ended by itself under a larger cap, so this one was not cut at its own
    hides: bool = False  #: the provider is known to call a cut an end, or called that of the turn an end

    @property
    def running(self) -> bool:
        return self.turn.status in UNFINISHED

    @property
    def in_vain(self) -> bool:
        """Whether it ended without being complete, by the limit again; of retries, by the same kind of failure; of a
        structured answer, without a valid one; of time, by the time limit, also before any text came. Where one call
        is to be enough, whether its answer took more. One that another limit ended says nothing of this one, except
        where it had used all of this one as well."""
        refused = self.limit == "max_retries" and self.turn.terminal_reason == "provider_error"
        invalid = self.turn.status == TurnStatus.FAILED and self.turn.error_code in INVALID
        late = self.limit == self.turn.resource == "max_seconds"
        again = self.turn.status == TurnStatus.PARTIAL and self._was_too_small
        hidden = self.hides and self.may_be_cut
        return again or refused or invalid or late or self._took_more or hidden

    @property
    def in_vain_words(self) -> str:
        """How it ended that was not enough, behind `A re-run with Max tokens per call 640`."""
        if self.turn.status == TurnStatus.COMPLETED:
            return "may be cut off"
        return FAILING.get(self.limit, "was cut off")

    @property
    def _was_too_small(self) -> bool:
        """Of one that ended early: whether this limit ended it, or was used up when another of `WROTE` did. A call that
        is continued was cut by its cap."""
        bound = self.turn.resource
        if bound in (None, self.limit):
            return True
        if self.limit == "max_tokens" and bound not in {*WROTE, *APART}:
            return True
        if self.limit == "max_tokens" and bound == "max_continuations":
            return True
        return bound in WROTE and self.limit in WROTE and WROTE[self.limit](self.turn) >= self.value

    @property
    def more_calls(self) -> int:
        """Calls that continued an answer or requested it again. One that follows a tool's result begins another answer,
        and one that follows a failure is made in place of it."""
        return self.turn.continuations + self.turn.envelope_retries + self.turn.tool_repairs

    @property
    def completed(self) -> bool:
        """Whether it completed, and so did what the value is tried for. It may have been cut all the same."""
        cut = self._took_more or (self.hides and self.may_be_cut)
        return self.turn.status == TurnStatus.COMPLETED and not cut

    @property
    def proves(self) -> bool:
        """Whether it shows that the value is enough."""
        return self.completed and not self.may_be_cut

    @property
    def may_be_cut(self) -> bool:
        """Whether its answer may have been cut off at a cap, so that it proves nothing."""
        return not self.whole and may_be_cut(self.turn)

    @property
    def ended_at_it(self) -> bool:
        """Whether its answer ended exactly at the limit, where it may have been cut."""
        return self.limit in CAPPING and self.may_be_cut and self.turn.output_tokens >= self.value

    @property
    def _took_more(self) -> bool:
        """Whether one call was to be enough, and its answer took several; or a tool call was truncated again."""
        if self.goal is Goal.NO_REPAIR:
            return repaired_calls(self.turn) is not None
        return self.goal is Goal.ONE_CALL and self.turn.continuations + self.turn.envelope_retries > 0

    @property
    def bound_otherwise(self) -> str | None:
        """The other limit of the policy that ended it, so that it does not show whether the value is enough."""
        bound: str | None = self.turn.resource
        return bound if self.tells_nothing and bound in LIMIT_FIELDS and bound != self.limit else None

    @property
    def tells_nothing(self) -> bool:
        """Whether it ended without showing whether the value is enough: its provider failed, or somebody stopped it."""
        return not (self.running or self.in_vain or self.completed)


def with_a_margin(case: ExhaustedLimit, trial: LimitTrial) -> int:
    """What a re-run was given that may have been cut; where it ended exactly there, also what the end of an answer may
    take. No more than may be asked."""
    value = max(trial.value + (margin_of(case.limit) if trial.ended_at_it else 0), case.in_vain + 1)
    return value if case.ceiling is None else min(value, case.ceiling)


def reruns_of(case: ExhaustedLimit) -> tuple[LimitTrial, ...]:
    """The oldest first. One that was given anything else otherwise, also by an operator while it ran, tells nothing of
    the limit alone."""
    found = [tried for other in relatives_of(case.turn) if (tried := _tried(case, other)) is not None]
    acts = _acts_of([tried.turn.id for tried in found])
    changed = {record.turn_id for record in acts if was_changed([serial.event_from_json(record.event)])}
    return _cuts_shown(tuple(tried for tried in found if tried.turn.id not in changed))


def ended_alike(turn: Turn, others: Iterable[Turn]) -> bool:
    """Whether one of the others, whose cap was larger, ended by itself with the same answer; no where this one used all
    of its cap, because an end that is not reported may have had no room."""
    if turn.output_tokens >= (turn.max_tokens or 0):
        return False
    larger = [
        other.pk
        for other in others
        if other.status == TurnStatus.COMPLETED
        and (other.max_tokens or 0) > (turn.max_tokens or 0)
        and other.output_tokens == turn.output_tokens
        and not may_be_cut(other)
    ]
    if not larger:
        return False
    answer = Turn.objects.filter(pk=turn.pk).exclude(output_text="").values("output_text")
    return Turn.objects.filter(pk__in=larger, output_text__in=answer).exists()


def _cuts_shown(reruns: tuple[LimitTrial, ...]) -> tuple[LimitTrial, ...]:
    """Two that used all of different values show that the provider calls a cut an end: no answer has two lengths."""
    turns = [it.turn for it in reruns]
    reruns = tuple(replace(it, whole=ended_alike(it.turn, turns)) if it.may_be_cut else it for it in reruns)
    filled = {it.value for it in reruns if it.ended_at_it or (it.limit == "max_tokens" and it.may_be_cut)}
    return reruns if len(filled) < 2 else tuple(replace(it, hides=True) for it in reruns)


def completed_reruns(turn_id: UUID) -> list[CompletedRerun]:
    """For backtests: the re-runs that completed, cannot have been cut and were not changed by an operator; those first
    whose provider said the same, then those of the fewest calls and tokens."""
    turn = Turn.objects.select_related("agent__connection", "project").get(pk=turn_id)
    completed = [other for other in relatives_of(turn) if other.status == TurnStatus.COMPLETED]
    done = [other for other in completed if not may_be_cut(other) or ended_alike(other, completed)]
    acts = _acts_of([other.id for other in done]) if done else ()
    changed = {record.turn_id for record in acts if was_changed([serial.event_from_json(record.event)])}
    found = [CompletedRerun(other, _repeats(turn, other)) for other in done if other.id not in changed]
    return sorted(found, key=lambda each: (not each.repeats, each.turn.attempts, each.turn.output_tokens))


def _repeats(turn: Turn, other: Turn) -> bool:
    """No run takes as long as another."""
    in_time = turn.resource != "max_seconds"
    return in_time and answers_repeat(turn, other, until_cut=turn.max_tokens != other.max_tokens)


def _acts_of(turns: list[UUID]) -> Iterable[Record]:
    known = read_ahead().acts
    if all(turn_id in known for turn_id in turns):
        return [record for turn_id in turns for record in known[turn_id]]
    return once(("acts", *turns), lambda: list(acts_of(turns)))


def _tried(case: ExhaustedLimit, other: Turn) -> LimitTrial | None:
    given = settings_changed(case.turn, other)
    value = given.pop(case.limit, None)
    if value is None or not case.is_alone(given):
        return None
    hides = case.goal is Goal.FINISH and case.turn.status == TurnStatus.COMPLETED
    return LimitTrial(math.ceil(value), other, case.limit, other.id == case.turn.parent_id, given, case.goal, hides)


def said_the_same(case: ExhaustedLimit, trial: LimitTrial) -> bool:
    """Whether the provider said the same twice, as far as is known.

    Each answer up to the last recorded one is the same, and that one goes on at most; under another max_tokens up to
    the first that was cut. An answer without text or calls shows nothing: the model may have thought of anything else.
    """
    return answers_repeat(case.turn, trial.turn, until_cut=case.limit == "max_tokens")


def answers_repeat(turn: Turn, other: Turn, *, until_cut: bool) -> bool:
    """The same of a turn and its re-run. `until_cut`: only up to the first answer that was cut."""
    attempts_read_ahead((turn.id, other.id))
    recorded, again = _answers(turn), _answers(other)
    if until_cut and not may_be_cut(turn):  # of one that may be cut, nobody knows whether its last answer was
        recorded = recorded[: next((place for place, said in enumerate(recorded, 1) if said.cut), 0)]
    if len(again) < len(recorded) or not recorded:
        return False
    last, new = recorded[-1], again[len(recorded) - 1]
    before = [said.told for said in recorded[:-1]] == [said.told for said in again[: len(recorded) - 1]]
    return before and bool(last.text or last.calls) and last.begins(new)


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of one answer, its whole calls by name and arguments, and whether it was cut."""

    text: str
    calls: list[tuple[str, str]]
    cut: bool

    @property
    def told(self) -> tuple[str, list[tuple[str, str]]]:
        return self.text, self.calls

    def begins(self, other: "Answer") -> bool:
        """Whether the other answer is this one, or goes on from it: from a truncated call, too."""
        if not other.text.startswith(self.text) or len(other.calls) < len(self.calls):
            return False
        pairs = zip(self.calls, other.calls, strict=False)
        return all(one == two or (self.cut and _goes_on(one, two)) for one, two in pairs)


def _goes_on(one: tuple[str, str], two: tuple[str, str]) -> bool:
    return one[0] == two[0] and two[1].startswith(one[1])


def _answers(turn: Turn) -> list[Answer]:
    """Those of a fork begin with its parent's. A call that failed, or was lost with its worker, has none."""
    return [answer for _, answer in _numbered(turn)]


def _numbered(turn: Turn) -> list[tuple[int, Answer]]:
    told = attempts_read(turn.id, "text", "tool_calls", "stop_reason", "error")
    own = [(each.index, _answer(each)) for each in told if each.error is None]
    if turn.base_snapshot is None or turn.parent is None or not told:
        return own
    return [each for each in _numbered(turn.parent) if each[0] < told[0].index] + own


def _answer(said: Attempt) -> Answer:
    """A call that was truncated before its arguments, or its name, began is stored without them."""
    calls = [(call.get("name", ""), call.get("raw", "")) for call in said.tool_calls]
    return Answer(said.text or "", calls, said.stop_reason == NormalizedStopReason.MAX_TOKENS)
