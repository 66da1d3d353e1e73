"""The command of a state: what the outside is asked to do now. A snapshot says it all, so a crash can ask again."""

from typing import Any

from agentcore.argument_validation import unchecked
from agentcore.commands import CallModel, Command, Hold, RunTools, Wait
from agentcore.messages import ChatRequest, Continuation, ToolCall
from agentcore.snapshot import Snapshot
from agentcore.states import CALLS, State


def command_of(snapshot: Snapshot) -> Command:
    """The one command that belongs to a waiting or terminal state."""
    if snapshot.state in CALLS:
        return _call_model(snapshot)
    if snapshot.state is State.EXECUTE_TOOLS:
        return RunTools(calls_to_run(snapshot), snapshot.seconds_left)
    if snapshot.state is State.BACKOFF:
        return Wait(snapshot.wait_seconds)
    if snapshot.state is State.HELD:
        return Hold(snapshot.held_until)
    assert snapshot.end is not None, "a terminal state has an end"
    return snapshot.end


def calls_to_run(snapshot: Snapshot) -> tuple[ToolCall, ...]:
    """The tool calls under execution that have no result yet."""
    answered = {result.call_id for result in (*snapshot.rejected, *snapshot.supplied)}
    return tuple(call for call in snapshot.calls if call.id not in answered)


def same_command(one: Snapshot, other: Snapshot) -> bool:
    """Whether two snapshots ask the same of the outside, whatever time is left for it."""
    if one.state in CALLS and other.state in CALLS:
        return _same_call(one, other)
    if one.state is State.EXECUTE_TOOLS and other.state is State.EXECUTE_TOOLS:
        return calls_to_run(one) == calls_to_run(other)
    return command_of(one) == command_of(other)


def _same_call(one: Snapshot, other: Snapshot) -> bool:
    """Most that differ, differ in their cap; and no request is made to be compared, for that takes longest."""
    if (one.current_call.max_tokens, one.current_call.kind) != (other.current_call.max_tokens, other.current_call.kind):
        return False
    if one.spent.attempts != other.spent.attempts or one.stand_in != other.stand_in:
        return False
    return _request(one) == _request(other)


def _request(snapshot: Snapshot) -> dict[str, Any]:
    """The fields of the pending call's `ChatRequest`."""
    call, asked = snapshot.current_call, snapshot.asked
    repairs = call.state is State.REQUEST_TOOL_REPAIR
    prompt = asked.system_prompt
    if call.corrective:
        prompt = f"{prompt}\n\n{call.corrective}" if prompt else call.corrective
    return {
        "model": asked.model,
        "messages": (*snapshot.messages, *call.echo),
        "max_tokens": call.max_tokens,
        "system_prompt": prompt,
        "tools": asked.tools,
        "continuation": None if call.hint is None else Continuation(snapshot.answer.text, call.hint, repairs),
        "envelope_schema": None if asked.any_json else asked.envelope_schema,
        "extra": asked.extra,
        "resume_token": call.resume_token,
    }


#: Of what was judged as it came: its schema would be gone through at every call.
_asked = unchecked(ChatRequest)


def _call_model(snapshot: Snapshot) -> CallModel:
    request = _asked(**_request(snapshot))
    call, spent = snapshot.current_call, snapshot.spent
    return CallModel(call.kind, spent.attempts, request, snapshot.seconds_left, snapshot.stand_in)
