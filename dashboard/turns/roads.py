"""Roads not taken: the limits that were asked about at a step, and where each would have led instead."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentcore.machine.states import TRANSITIONS, State, Trigger
from dashboard.turns.meters import Meter
from dashboard.turns.stepping import Moment
from dashboard.turns.templatetags.shown import number

#: Which limit each trigger speaks of, by the state that decides; the meter's name.
LIMITS: Mapping[State, Mapping[Trigger, str]] = {
    State.CONTINUE_PENDING: {
        Trigger.RETRY_LIMIT: "continuations",
        Trigger.BUDGET_EXHAUSTED: "completion tokens",
        Trigger.OUTPUT_CAP: "output characters",
    },
    State.REPAIR_PENDING: {Trigger.RETRY_LIMIT: "tool repairs", Trigger.BUDGET_EXHAUSTED: "all tokens"},
    State.EVALUATE_ENVELOPE: {Trigger.EXHAUSTED: "envelope retries"},
    State.EVALUATE_CONTINUATION: {Trigger.FORBIDDEN: "steps"},
}


@dataclass(frozen=True, slots=True)
class Road:
    """A move that was possible at a step and not made, and what it would have taken."""

    trigger: str
    target: str
    needs: str


def roads_of(moment: Moment) -> tuple[Road, ...]:
    """The moves a limit could have forced instead; none where the step asked no limit."""
    try:
        source = State(moment.source)
    except ValueError:
        return ()
    meters = {meter.name: meter for meter in moment.meters}
    return tuple(
        Road(trigger.value, TRANSITIONS[source][trigger].value, _needs(meters[name]))
        for trigger, name in LIMITS.get(source, {}).items()
        if trigger != moment.trigger and name in meters
    )


def _needs(meter: Meter) -> str:
    return f"at {number(meter.limit)} {meter.name}; {number(meter.used)} are used, this move counted"
