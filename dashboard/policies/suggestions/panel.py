"""The suggestion as the head of a turn's page shows it, with what is under way to prove it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentcore.policy import LIMIT_NAMES
from agentcore.replay import Certainty, fold
from agentcore.resource import APPROVAL_SECONDS
from agentcore.snapshot import Snapshot
from dashboard.agents.limit_fields import IN_SECONDS
from dashboard.agents.models import Connection
from dashboard.live.turn_loader import connection_of, may_be_rerun
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.limit_trials import TriedLimit, limit_trials, refusal_of
from dashboard.policies.suggestions.relatives import is_reworded
from dashboard.policies.suggestions.rerun_text import (
    rerun_found,
    rerun_named,
    unanswered_in_words,
    why_no_less,
    why_not_again,
)
from dashboard.policies.suggestions.reruns import LimitTrial
from dashboard.policies.suggestions.selectors import suggestion_and_less, suggestion_of_another_limit
from dashboard.policies.suggestions.services import backtest_found, backtest_of_cap, standing_value
from dashboard.policies.suggestions.shown_values import says_nothing
from dashboard.policies.suggestions.standing_text import had_in_words, standing_in_words
from dashboard.policies.suggestions.suggestion import Basis, Number, Suggestion
from dashboard.policies.suggestions.suggestion_text import (
    because,
    certainty_word,
    given,
    sentence,
)
from dashboard.policies.suggestions.trial_costs import costs_in_words
from dashboard.replay.sweep_service import SWEPT
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.read_ahead import reading_once


@dataclass(frozen=True, slots=True)
class Panel:
    """`running`: the re-run that is under way; `in_vain`: the last one that was not complete either; `less`: a smaller
    value that is likely sufficient, and not proven; `other`: the value of another limit that would do as well,
    and is no surer; `shown`: the values that a re-run has shown to be enough."""

    turn: Turn
    suggestion: Suggestion
    running: LimitTrial | None
    in_vain: LimitTrial | None
    backtest: Backtest | None
    less: Suggestion | None = None
    other: Suggestion | None = None
    less_tried: bool = False  #: whether a re-run was given that value, however it ended
    unanswered: LimitTrial | None = None  #: the newest re-run, where it ended and tells nothing of the limit
    silent: LimitTrial | None = None  #: the newest re-run that completed and says nothing of the limit
    is_reworded: bool = False  #: no re-run from the start asks what this turn was asked
    shown: frozenset[int] = frozenset()
    tried: frozenset[int] = frozenset()  #: the values that a re-run was given, however it ended
    of_cap: Backtest | None = None  #: of another value that the agent was given
    unset: Connection | None = None  #: whose ceiling is not set, though its provider has said one (`suggestion.most`)

    @property
    def sentence(self) -> str:
        return sentence(self.suggestion)

    @property
    def because(self) -> str:
        return because(self.suggestion)

    @property
    def other_word(self) -> str:
        return certainty_word(self.other) if self.other else ""

    @property
    def other_name(self) -> str:
        return LIMIT_NAMES[self.other.limit] if self.other else ""

    @property
    def other_words(self) -> str:
        return f"{sentence(self.other)} {because(self.other)}" if self.other else ""

    @property
    def rerun_named(self) -> str:
        return rerun_named(self.suggestion)

    @property
    def rerun_found(self) -> str:
        return rerun_found(self.suggestion)

    @property
    def plan(self) -> str:
        """What one click runs. Of max_tokens also the smaller value that the first re-run is likely to show."""
        first = f"with {given(self.suggestion)}"
        if not self.of_agent:
            return f"One live re-run {first}"
        second = "If that shows that a lower value is likely enough, the second uses it"
        return f"Up to two live re-runs: {first}. {second}"

    @property
    def costs(self) -> str:
        """Of the whole plan: the smaller value costs no more than the larger."""
        costs = self.suggestion.costs
        planned = costs.twice if costs is not None and self.of_agent else costs
        return costs_in_words(planned, model=self.turn.model)

    @property
    def less_costs(self) -> str:
        return costs_in_words(self.less.costs, model=self.turn.model) if self.less else ""

    @property
    def may_be_less(self) -> bool:
        """Whether a live re-run under the smaller value may be made."""
        return self.less is not None and self.running is None and may_be_rerun(self.turn)

    @property
    def checks_less(self) -> bool:
        """Whether the re-run that is under way was given less than the value that another one has shown."""
        return self.by_rerun and self.running is not None and self.running.value < self.suggestion.value

    @property
    def why_no_less(self) -> str:
        """Why no smaller value is tried after a re-run that completed; empty where one is."""
        shown = self.of_agent and self.by_rerun and not self.suggestion.may_be_cut
        again = len(self.shown) > 1  # a second one was started, and shows the value
        tried = self.less is not None or self.running is not None or self.in_vain is not None or again
        return why_no_less(self.suggestion) if shown and not tried else ""

    @property
    def why_not_again(self) -> str:
        """Why the value is not tried again, behind `A re-run`; empty where it may be."""
        return why_not_again(self.silent) if self.silent and self.silent.value == self.suggestion.value else ""

    @property
    def name(self) -> str:
        return LIMIT_NAMES[self.suggestion.limit]

    @property
    def certainty(self) -> str:
        """The word on the badge: what a live re-run has shown is proven, not merely certain."""
        return certainty_word(self.suggestion)

    @property
    def label(self) -> str:
        """What the value is, beside its field; with the unit where the name does not say it."""
        return f"{self.name}, in seconds" if self.suggestion.limit in IN_SECONDS else self.name

    @property
    def recorded(self) -> str:
        """`Max tokens per call was 60`: the setting that stopped the turn. The sentence before has its key."""
        return had_in_words(self.suggestion)

    @property
    def may_be_used(self) -> bool:
        """Whether the agent is still there, and its next turn does not have as much already: a draft of the value
        would lower what an override of this turn alone had lowered. A larger value that the agent was given because a
        re-run had shown it may be replaced by the smaller one that another re-run has shown."""
        if self.turn.agent is None:
            return False
        standing = standing_value(self.turn.agent, self.suggestion)
        if standing is None or standing == self.suggestion.value or self._is_likely_enough(standing):
            return False
        return standing < self.suggestion.value or (self.of_agent and self.by_rerun and standing in self.shown)

    def _is_likely_enough(self, standing: Number) -> bool:
        """Whether the agent has less than a re-run has shown, and no less than that re-run is likely to need."""
        return self.less is not None and self.less.value <= standing < self.suggestion.value

    @property
    def needs_draft(self) -> bool:
        """Whether the agent's policy does not allow what the cap needs beside it."""
        agent, said = self.turn.agent, self.suggestion
        return agent is not None and self.of_agent and bool(said.together) and standing_value(agent, said) == 0

    @property
    def has_cap(self) -> bool:
        """Whether the agent has the cap already, or a larger one of somebody else's."""
        agent, value = self.turn.agent, self.suggestion.value
        if agent is None or not self.of_agent:
            return False
        return agent.max_tokens == value or (agent.max_tokens > value and agent.max_tokens not in self.shown)

    @property
    def standing(self) -> str:
        """Why the value cannot be used, in one sentence: as much is allowed already. Empty where it can."""
        agent, said = self.turn.agent, self.suggestion
        if agent is None or not self.known or self.may_be_used:
            return ""
        standing = standing_value(agent, said)
        is_less = standing is not None and self._is_likely_enough(standing)
        own = self._set_by_the_turn
        return standing_in_words(said.limit, standing, agent=agent.name, own=own, is_likely_enough=is_less)

    @property
    def _set_by_the_turn(self) -> bool:
        given = self.turn.overrides
        return self.suggestion.limit in {**given, **(given.get("limits") or {}), **_retries(given)}

    @property
    def is_elsewhere(self) -> bool:
        """Whether another program made the calls, at a connection that is not known here."""
        return not may_be_rerun(self.turn)

    @property
    def sweeps(self) -> bool:
        return self.suggestion.limit in SWEPT

    @property
    def known(self) -> bool:
        """Whether a value can be used: something says that it is enough."""
        return self.suggestion.basis is not Basis.NONE

    @property
    def by_rerun(self) -> bool:
        """Whether a live re-run that completed tells."""
        return self.suggestion.basis is Basis.RERUN

    @property
    def may_be_found(self) -> bool:
        """Whether a live re-run would tell more than is known."""
        said, estimated = self.suggestion, self.suggestion.certainty is Certainty.ESTIMATED
        shown = (said.basis is Basis.RERUN and not said.may_be_cut) or (said.basis is Basis.RECORDING and not estimated)
        filled = said.may_be_cut and said.value in self.tried  # it would fill the same cap once more
        again = filled or bool(self.why_not_again)
        tried = self.running or self.is_reworded or self.of_approval or again
        return not (shown or tried) and may_be_rerun(self.turn)

    @property
    def of_approval(self) -> bool:
        """Whether the limit is the time that a person has, which the agent's page sets."""
        return self.suggestion.limit == APPROVAL_SECONDS

    @property
    def of_agent(self) -> bool:
        """Whether the limit is the agent's own; else a policy says it."""
        return self.suggestion.limit == "max_tokens"

    @property
    def unanswered_words(self) -> str:
        """How the re-run ended that tells nothing, behind `a re-run with Max tokens per call 640`."""
        return unanswered_in_words(self.unanswered.turn if self.unanswered else None)


def last_of(turn: Turn) -> Snapshot | None:
    """How the recorded turn stands at its last record; None before its first."""
    spans = fold(recording_of(turn))
    return spans[-1].after if spans else None


@reading_once()
def panel_of(turn: Turn, last: Snapshot | None = None) -> Panel | None:
    """None where the turn needs no limit raised, or none would have helped. `last`: None, to be read."""
    last = last_of(turn) if last is None else last
    limits = limit_trials(turn, last) if last is not None else ()
    suggestion, less = suggestion_and_less(turn, last) if last is not None and limits else (None, None)
    if suggestion is None:
        return None
    case, reruns = _of_limit(limits, suggestion.limit)
    running = next((tried for each in limits for tried in reversed(each.reruns) if tried.running), None)
    raised = [tried for tried in reruns if tried.value > (case.recorded or 0)]  # a lower limit tells nothing of more
    in_vain = next((tried for tried in reversed(raised) if tried.in_vain), None)
    less_tried = less is not None and any(tried.value == less.value for tried in reruns)
    newest = next((tried for tried in reversed(raised) if not tried.is_original), None)
    unanswered = newest is not None and newest.tells_nothing and refusal_of([newest]) is None
    silent = (tried for tried in reversed(reruns) if tried.completed and says_nothing(case, tried))
    backtest = backtest_found(turn=turn, suggestion=suggestion)
    about: dict[str, Any] = {"less_tried": less_tried, "is_reworded": is_reworded(turn)}
    about["shown"] = frozenset(tried.value for tried in reruns if tried.proves)
    about["tried"] = frozenset(tried.value for tried in reruns)
    about |= {"unanswered": newest if unanswered else None, "silent": next(silent, None)}
    about |= {"unset": _unset(turn, suggestion), "of_cap": backtest_of_cap(turn=turn, suggestion=suggestion)}
    if last is not None and len(limits) > 1:
        about["other"] = suggestion_of_another_limit(turn, last, suggestion)
    return Panel(turn, suggestion, running, in_vain, backtest, less, **about)


def _of_limit(limits: tuple[TriedLimit, ...], name: str) -> tuple[ExhaustedLimit, tuple[LimitTrial, ...]]:
    found = next((each for each in limits if each.case.limit == name), limits[-1])
    return found.case, found.reruns


def _unset(turn: Turn, suggestion: Suggestion) -> Connection | None:
    connection = connection_of(turn) if suggestion.most is not None else None
    return connection if connection is not None and connection.max_output_tokens is None else None


def _retries(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """An error policy of the turn's own, as the limit that it amounts to."""
    return {"max_retries": 0} if overrides.get("error_policy") else {}


def waited_for(turn: Turn, waits: UUID) -> Backtest | Turn | None:
    """The backtest or the re-run with this id that a page waits for; None: the turn's project has none."""
    found = Backtest.objects.filter(project=turn.project, pk=waits).first()
    return found or Turn.objects.filter(project=turn.project, pk=waits).only("status").first()
