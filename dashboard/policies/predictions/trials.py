"""Which re-runs measure predictions best: limits on both sides of where the what-if of a turn changes its answer."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import cache
from itertools import chain, islice, pairwise
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.replay import Certainty, Recording, WhatIf
from dashboard.agents.observe_policy import was_watched
from dashboard.agents.policies import stored_policy
from dashboard.live.turn_loader import connection_of
from dashboard.policies.predictions.forecast import TOLD
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.replay.endings import was_changed, was_taken_over
from dashboard.replay.rerun_changes import said_at
from dashboard.replay.selectors import began_with
from dashboard.replay.services import what_if_under
from dashboard.replay.usage_bounds import UsageBound, usage_bound
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn

#: Values of max_tokens at which a what-if is asked first, as shares of all that the turn said.
SHARES = (0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.5)
UNDECIDABLE = "values for which nothing is predicted (undecidable)"
SAME = "values the turn ran under"
OWN = (Prediction.Kind.CALIBRATION, Prediction.Kind.CHECK)

Overrides = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Values:
    """The limits to try. Without any given by hand they are chosen for each turn: `most` of max_tokens at most."""

    max_tokens: tuple[int, ...] = ()
    max_continuations: tuple[int, ...] = ()
    most: int = 4

    @property
    def by_hand(self) -> list[dict[str, Any]]:
        """Every pair where both are given."""
        tokens = [{"max_tokens": value} for value in self.max_tokens] or [{}]
        rounds = [{"limits": {"max_continuations": value}} for value in self.max_continuations] or [{}]
        return [{**one, **other} for one in tokens for other in rounds if one or other]


@dataclass(frozen=True, slots=True)
class Trial:
    """One re-run to be made, and what it may use at most."""

    turn: str
    overrides: dict[str, Any]
    certainty: str
    at_most: dict[str, Any]

    @property
    def bound(self) -> UsageBound:
        dollars = self.at_most["dollars"]
        return UsageBound(**{**self.at_most, "dollars": None if dollars is None else Decimal(dollars)})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Plan:
    """The trials in order, the turns they are of, and why others were left out, with how many."""

    trials: list[Trial] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def plan_of(turns: Iterable[Turn], values: Values, *, most: int) -> Plan:
    """Of the first `most` of these turns that can be asked again and give a trial."""
    plan = Plan()
    for turn in turns:
        if len(plan.turns) >= most:
            break
        if why := left_out_for(turn):
            plan.left_out[f"turns {why}"] += 1
            continue
        made = list(_trials(turn, values, plan.left_out))
        plan.trials += made
        plan.turns += [str(turn.id)] if made else []
    return plan


def left_out_for(turn: Turn) -> str:
    """Why a turn is not asked again, as the end of `turns …`; empty where it is."""
    setup = turn.setup.get("setup") or {}
    if turn.status not in TOLD:
        return "that have not ended, or were cancelled or interrupted"
    if turn.base_snapshot is not None or not setup:
        return "that begin in the middle of another"
    if was_watched(stored_policy(turn.policy)):
        return "that the gateway only observed"
    if setup.get("tools"):
        return "whose agent has tools, which would run again"
    if Prediction.objects.filter(child=turn, kind__in=OWN).exists():
        return "that a calibration made"
    return _changed_since(turn)


def _changed_since(turn: Turn) -> str:
    connection = connection_of(turn)
    if connection is None:
        return "whose agent or connection is gone"
    began = began_with(turn).setup
    return "" if said_at(began, connection) == began else "whose connection has been changed since"


def _trials(turn: Turn, values: Values, left_out: Counter[str]) -> Iterator[Trial]:
    recording = recording_of(turn)
    events = [record.event for record in recording.records]
    if was_changed(events) or was_taken_over(events):
        left_out["turns that an operator changed, or a worker left behind"] += 1
        return
    ask = _asking(recording, turn)
    suggested = [] if values.by_hand else _suggested(turn)
    for overrides in values.by_hand or _each(suggested, _chosen(turn, ask, values.most)):
        found = ask(overrides)
        if _is_its_own(turn, overrides):
            left_out[SAME] += 1
        elif isinstance(found, str):
            left_out[f"values that cannot be tried ({found.rstrip('.')})"] += 1
        elif (
            found.certainty is Certainty.UNDECIDABLE
            and not found.endings
            and not (values.by_hand or overrides in suggested)
        ):
            left_out[UNDECIDABLE] += 1
        else:
            bound = asdict(usage_bound(turn, overrides))
            dollars = None if bound["dollars"] is None else str(bound["dollars"])
            yield Trial(str(turn.id), dict(overrides), found.certainty.value, {**bound, "dollars": dollars})


def _suggested(turn: Turn) -> list[Overrides]:
    """The value that the turn's page suggests, if anything tells that it is enough. The plan tells it, and its re-run
    begins later, when other answers may suggest another one."""
    said = suggestion_for(turn)
    tell(turn, said)
    return [said.overrides] if said is not None and said.known else []


def _each(first: list[Overrides], others: list[Overrides]) -> list[Overrides]:
    return [*first, *(one for one in others if one not in first)]


def _is_its_own(turn: Turn, overrides: Overrides) -> bool:
    limits = stored_policy(turn.policy).limits
    said = overrides.get("limits") or {}
    own_tokens = overrides.get("max_tokens", turn.max_tokens) == turn.max_tokens
    return own_tokens and all(getattr(limits, name) == value for name, value in said.items())


Ask = Callable[[Overrides], WhatIf | str]


def _asking(recording: Recording, turn: Turn) -> Ask:
    """What the recording says under some overrides; a sentence where they cannot be, or it cannot be judged."""

    def ask(overrides: Overrides) -> WhatIf | str:
        try:
            return what_if_under(recording, turn, overrides).recording
        except ValidationError as error:
            return " ".join(error.messages)

    return ask


def _chosen(turn: Turn, ask: Ask, most: int) -> list[Overrides]:
    """Both sides of values of max_tokens at which the answer changes, and of the continuations that were needed."""
    values = (value for value in _from_both_ends(list(_boundaries(turn, ask))) if value != turn.max_tokens)
    tokens = sorted(islice(values, most))
    needed = turn.continuations
    rounds = [{"limits": {"max_continuations": value}} for value in (needed - 1, needed) if needed and value >= 0]
    return [*({"max_tokens": value} for value in tokens), *rounds]


def _from_both_ends(pairs: list[tuple[int, int]]) -> Iterator[int]:
    """The largest pair, where one call begins to suffice, then the smallest, and so on inwards; no value twice."""
    inwards = [pairs[-1 - place // 2] if place % 2 == 0 else pairs[place // 2] for place in range(len(pairs))]
    yield from dict.fromkeys(chain.from_iterable(inwards))


def _boundaries(turn: Turn, ask: Ask) -> Iterator[tuple[int, int]]:
    """From the smallest up: two neighbours of which one ends otherwise, in more calls, or less certainly."""

    @cache
    def answer(value: int) -> tuple[Any, ...]:
        found = ask({"max_tokens": value})
        if isinstance(found, str) or found.final is None:
            return (None,)
        end = found.final.end
        return found.certainty, None if end is None else (end.status, end.terminal_reason, found.final.spent.attempts)

    connection = connection_of(turn)
    ceiling = (connection.ceiling if connection else None) or 10**9
    own = set() if turn.max_tokens is None else {turn.max_tokens}
    asked = {max(1, min(ceiling, round(share * turn.output_tokens))) for share in SHARES} | own
    for low, high in pairwise(sorted(asked)):
        if answer(low) != answer(high):
            yield from dict.fromkeys(_narrowed(low, high, answer, leaving=side) for side in (True, False))


def _narrowed(low: int, high: int, answer: Callable[[int], tuple[Any, ...]], *, leaving: bool) -> tuple[int, int]:
    """Two neighbours between which the smaller end's answer is left, or else the larger end's is reached."""
    first, last = answer(low), answer(high)
    while high - low > 1:
        middle = (low + high) // 2
        is_below = answer(middle) == first if leaving else answer(middle) != last
        low, high = (middle, high) if is_below else (low, middle)
    return low, high
