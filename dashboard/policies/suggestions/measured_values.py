"""What live re-runs of a turn took, by the value of the swept limit that they were given."""

from collections.abc import Iterable, Mapping
from typing import Any

from agentcore import serial
from agentcore.reasons import TurnStatus
from agentcore.values import replace
from dashboard.agents.policies import stored_policy
from dashboard.policies.suggestions.relatives import flat, relatives_of, settings_changed
from dashboard.policies.suggestions.reruns import ended_alike
from dashboard.replay.endings import was_changed
from dashboard.replay.suggested_value import MeasuredValue
from dashboard.turns.end_summary import may_be_cut
from dashboard.turns.models import Turn
from dashboard.turns.prices.rates import Price
from dashboard.turns.prices.selectors import prices_of
from dashboard.turns.record_reader import acts_of

#: Limits of which another run may need more, so that a re-run proves nothing of the next one.
VARYING = ("max_seconds", "max_retries")
TELLS = (TurnStatus.COMPLETED, TurnStatus.PARTIAL, TurnStatus.ABORTED, TurnStatus.FAILED)  #: others were stopped


def measured_values(*, turn: Turn, name: str, overrides: Mapping[str, Any]) -> tuple[MeasuredValue, ...]:
    """One for each value, of the newest re-run that ended by itself, the smallest value first. A re-run that was given
    anything else than this limit and `overrides`, also by an operator while it ran, measures something else."""
    own = {**flat(serial.to_json(stored_policy(turn.policy))), "max_tokens": turn.max_tokens}
    asked = {key: value for key, value in flat(overrides).items() if value is not None and key != name}
    beside = {key: value for key, value in asked.items() if own.get(key) != value}
    found: dict[int, Turn] = {}
    for again in relatives_of(turn):  # the oldest first
        value = _value(settings_changed(turn, again), name, beside)
        if value is not None and again.parent_id is not None and again.status in TELLS:
            found[value] = again
    acts = acts_of([again.id for again in found.values()]) if found else ()
    changed = {record.turn_id for record in acts if was_changed([serial.event_from_json(record.event)])}
    kept = {value: again for value, again in found.items() if again.id not in changed}
    wholes = Turn.objects.select_related("agent__connection").in_bulk([again.id for again in kept.values()])
    prices = prices_of(wholes.values()) if wholes else {}
    read = [(value, again, wholes[again.id], prices[again.id]) for value, again in sorted(kept.items())]
    measured = (_measured(turn, *each, kept.values()) for each in read)
    return tuple(replace(each, varies=name in VARYING) for each in measured)


def _value(given: dict[str, Any], name: str, beside: Mapping[str, Any]) -> int | None:
    """The value of the limit among the settings that a re-run was given; None where it measures something else."""
    value = given.pop(name, None)
    return value if isinstance(value, int) and given == beside else None


def _measured(
    turn: Turn, value: int, again: Turn, whole: Turn, price: Price | None, others: Iterable[Turn]
) -> MeasuredValue:
    """`whole`: the re-run with the columns that a relative is read without."""
    completed, at_cap = again.status == TurnStatus.COMPLETED, may_be_cut(again) and not ended_alike(again, others)
    late = again.resource == "max_seconds"
    return MeasuredValue(
        value,
        again.id,
        "time_limit" if late else again.terminal_reason or again.status,
        completed,
        completed and not at_cap and bool(turn.output_text) and whole.output_text.startswith(turn.output_text),
        again.attempts,
        again.output_tokens,
        price,
        None if whole.took_ms is None else whole.took_ms / 1000,
        again.resource if late or again.status == TurnStatus.PARTIAL else None,
        at_cap,
    )
