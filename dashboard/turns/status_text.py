"""The status of an unfinished turn in one sentence; the verdict replaces it at the end."""

from collections.abc import Callable, Mapping

from agentcore.events import Breakpoint
from agentcore.number_format import duration, number
from agentcore.snapshot import Snapshot
from agentcore.states import State
from dashboard.turns.models import Turn
from dashboard.turns.sent_caps import NO_CAP_SET


def status_text(turn: Turn, snapshot: Snapshot) -> str:
    """One sentence for people who are waiting."""
    if snapshot.state in _WORDS:
        return _WORDS[snapshot.state](snapshot)
    return f"The turn is {turn.status}."


def _cap(snapshot: Snapshot) -> str:
    if snapshot.call is None:
        return "no call yet"
    return f"max_tokens: {NO_CAP_SET}" if snapshot.sent_cap is None else f"at most {number(snapshot.sent_cap)} tokens"


def _continuation(snapshot: Snapshot) -> str:
    used, limit = snapshot.spent.continuations, snapshot.limits.max_continuations
    return f"The answer was cut off; continuation {used} of {limit} is in progress, {_cap(snapshot)}."


def _repair(snapshot: Snapshot) -> str:
    used, limit = snapshot.spent.tool_repairs, snapshot.limits.max_tool_repair_attempts
    return f"A tool call was broken; repair {used} of {limit} is in progress, {_cap(snapshot)}."


def _envelope(snapshot: Snapshot) -> str:
    used, limit = snapshot.spent.envelope_retries, snapshot.limits.schema_rounds
    return f"The envelope was incomplete or invalid; retry {used} of {limit} is in progress, {_cap(snapshot)}."


def _tools(snapshot: Snapshot) -> str:
    names = ", ".join(call.name for call in snapshot.calls)
    return f"Running tools: {names}."


def _backoff(snapshot: Snapshot) -> str:
    why = f" after: {snapshot.failure.message}" if snapshot.failure else ""
    return f"Waiting {duration(snapshot.wait_seconds)} before the next call{why}"


def _held(snapshot: Snapshot) -> str:
    """Read after the word `Held`, which stands before every such sentence."""
    if snapshot.approving:
        return f"waiting for approval of {' and '.join(dict.fromkeys(snapshot.approving))}."
    return f"{before_step(snapshot.held_state)}; waiting for an operator."


#: What Whystop does in the steps before which a turn is held.
STEPS: Mapping[State, str] = {
    State.REQUEST: "calls the model",
    State.REQUEST_CONTINUATION: "requests the rest of the answer",
    State.REQUEST_TOOL_REPAIR: "requests a tool call again",
    State.REQUEST_ENVELOPE_RETRY: "requests another envelope",
    State.EXECUTE_TOOLS: "runs the tools",
    State.BACKOFF: "waits to call again",
    State.EVALUATE_STOP: "decides what the answer means",
    State.CONTINUE_PENDING: "requests the rest of the answer",
    State.REPAIR_PENDING: "requests the broken tool call again",
    State.EVALUATE_ENVELOPE: "checks the envelope",
    State.EVALUATE_ERROR: "decides what follows the error",
    State.EVALUATE_CONTINUATION: "sends the tool results to the model",
    State.ABORT_PARTIAL: "ends the turn with a partial answer",
    State.COMPLETE: "ends the turn",
    State.ABORT: "ends the turn without an answer",
}


def before_step(state: State | None) -> str:
    """`before Whystop requests the rest of the answer`."""
    step = None if state is None else STEPS.get(state)
    return f"before Whystop {step}" if step else "before the next step"


def is_at_breakpoint(snapshot: Snapshot) -> bool:
    """Whether a turn is held by a breakpoint that names the step itself, so that no other reason is needed."""
    state = snapshot.held_state
    return state is not None and not snapshot.approving and Breakpoint(state=state.value) in snapshot.breakpoints


_WORDS: Mapping[State, Callable[[Snapshot], str]] = {
    State.IDLE: lambda _: "Waiting for a worker.",
    State.REQUEST: lambda snapshot: f"The model is answering, {_cap(snapshot)}.",
    State.REQUEST_CONTINUATION: _continuation,
    State.REQUEST_TOOL_REPAIR: _repair,
    State.REQUEST_ENVELOPE_RETRY: _envelope,
    State.EXECUTE_TOOLS: _tools,
    State.BACKOFF: _backoff,
    State.HELD: _held,
}
