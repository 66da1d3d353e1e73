"""What an operator is shown of a turn that is not over: why it is held, what waits for approval, where it will hold."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from agentcore.events import Breakpoint
from agentcore.machine.pending_tool_calls import pending_calls
from agentcore.messages import ToolCall
from agentcore.number_format import as_set
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.states import DECIDING
from dashboard.agents.breakpoints import ENTERING
from dashboard.live.models import OwnedTurn
from dashboard.turns.models import Turn
from dashboard.turns.status_text import before_step, is_at_breakpoint
from dashboard.turns.templatetags.formatting import words

#: What becomes of calls that nobody approves, in words.
OTHERWISE = {"refuse": "then they are refused", "run": "then they run", "cancel": "then the turn is cancelled"}


@dataclass(frozen=True, slots=True)
class Approval:
    """The calls that wait for a person. `until`: None forever; `otherwise`: what happens then."""

    calls: tuple[ToolCall, ...]
    until: datetime | None
    otherwise: str


@dataclass(frozen=True, slots=True)
class BreakpointView:
    """A breakpoint in words. `number` counts from 0, as the turn keeps them."""

    number: int
    words: str


@dataclass(frozen=True, slots=True)
class OperatorView:
    """The turn as its operator's controls show it."""

    held_at: str  #: the deciding state; empty while it runs
    held_before: str  #: what Whystop does next, in words
    is_at_breakpoint: bool  #: one that names this state
    will_hold: str  #: the decision before which somebody wants it held, in words; empty: none
    approval: Approval | None
    stops: tuple[BreakpointView, ...]
    answered_by: str  #: who has answered the next call of the model; empty: nobody
    tools: tuple[str, ...]  #: that a breakpoint can name
    is_owned: bool  #: a process answers a caller by it, so that nobody may act

    @property
    def states(self) -> tuple[str, ...]:
        """The states a turn can be run to, or hold at."""
        return tuple(state.value for state in DECIDING)

    @property
    def triggers(self) -> tuple[str, ...]:
        return tuple(ENTERING)

    @property
    def stop_reasons(self) -> tuple[str, ...]:
        return tuple(reason.value for reason in NormalizedStopReason)


def operator_view(turn: Turn, snapshot: Snapshot) -> OperatorView:
    """`snapshot`: the turn's last."""
    return OperatorView(
        held_at=snapshot.held_state.value if snapshot.held_state else "",
        held_before=before_step(snapshot.held_state),
        is_at_breakpoint=is_at_breakpoint(snapshot),
        will_hold=_will_hold(snapshot),
        approval=approval_of(turn, snapshot) if snapshot.approving else None,
        stops=tuple(
            BreakpointView(number, stop_words(stop)) for number, stop in enumerate(breakpoints_of(turn, snapshot))
        ),
        answered_by=snapshot.stand_in.answered_by if snapshot.stand_in else "",
        tools=tuple(turn.agent.tools) if turn.agent else (),
        is_owned=OwnedTurn.objects.filter(turn_id=turn.id).exists(),
    )


def breakpoints_of(turn: Turn, snapshot: Snapshot) -> tuple[Breakpoint, ...]:
    """Those that count after this snapshot; of a turn that has not begun, those it begins with."""
    if snapshot.setup is not None:
        return snapshot.breakpoints
    return tuple(Breakpoint(**stored) for stored in turn.breakpoints)


def _will_hold(snapshot: Snapshot) -> str:
    """What was asked for is not seen otherwise until the call that is under way has ended."""
    if snapshot.hold_requested:
        return "the next decision"
    return words(snapshot.run_to) if snapshot.run_to else ""


def approval_of(turn: Turn, snapshot: Snapshot) -> Approval:
    """What a turn waits for whose `snapshot` is approving."""
    approvals, until = snapshot.asked.approvals, snapshot.held_until
    calls = tuple(call for call in pending_calls(snapshot) if call.name in snapshot.approving)
    ends = None if until is None or turn.started_at is None else turn.started_at + timedelta(seconds=until)
    return Approval(calls, ends, OTHERWISE[approvals.otherwise] if approvals and ends else "")


def stop_words(stop: Breakpoint) -> str:
    """`on continue pending, by max tokens`."""
    below = stop.budget_below
    parts = (
        ("", stop.state),
        ("by ", stop.trigger),
        ("model stopped by ", stop.stop_reason),
        ("tool ", stop.tool),
        ("any budget under ", None if below is None else as_set(round(100 * below, 9), "%")),
    )
    return ", ".join(f"{before}{words(value)}" for before, value in parts if value)
