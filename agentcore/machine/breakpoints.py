"""Where the machine holds: an operator asked for it, or a breakpoint matches the deciding state that is entered."""

from agentcore.events import Breakpoint
from agentcore.machine.snapshot import Snapshot
from agentcore.machine.states import State, Trigger


def hold_here(snapshot: Snapshot, trigger: Trigger) -> str | None:
    """Why the machine holds on entering this state; None where it goes on."""
    if snapshot.hold_requested:
        return "an operator asked to hold"
    if not snapshot.breakpoints:
        return None
    matched = next((b for b in snapshot.breakpoints if _matches(b, snapshot, trigger)), None)
    return None if matched is None else f"breakpoint on {_words(matched)}"


def _matches(breakpoint_: Breakpoint, snapshot: Snapshot, trigger: Trigger) -> bool:
    if breakpoint_.state is None and breakpoint_.trigger is None and not _just_came(snapshot):
        return False
    response = snapshot.response
    called = {call.name for call in (*response.tool_calls, *response.broken_tool_calls)} if response else set()
    conditions = (
        (breakpoint_.state, {snapshot.state.value}),
        (breakpoint_.trigger, {trigger.value}),
        (breakpoint_.stop_reason, {_reason(snapshot)}),
        (breakpoint_.tool, called),
    )
    asked = [wanted in found for wanted, found in conditions if wanted is not None]
    return bool(asked) and all(asked)


def _just_came(snapshot: Snapshot) -> bool:
    """Where an attempt is first judged: there a reason or a tool alone holds, once."""
    if snapshot.state is State.EVALUATE_ERROR:
        return snapshot.response is None
    return snapshot.state is State.EVALUATE_STOP


def _reason(snapshot: Snapshot) -> str | None:
    """The stop reason of the last attempt: its answer's, or that of an error that really is one."""
    if snapshot.response is not None:
        return snapshot.response.stop_reason.value
    error = snapshot.failure.provider if snapshot.failure else None
    return error.stop_reason.value if error is not None and error.stop_reason is not None else None


def _words(breakpoint_: Breakpoint) -> str:
    parts = ("state", "trigger", "stop_reason", "tool")
    return ", ".join(f"{part} {value}" for part in parts if (value := getattr(breakpoint_, part)))
