"""The command of a state: what the outside is asked to do now. A snapshot says it all, so a crash can ask again."""

from agentcore.commands import CallModel, Command, Hold, RunTools, Wait
from agentcore.machine.snapshot import Snapshot
from agentcore.machine.states import CALLS, State
from agentcore.messages import ChatRequest, Continuation


def command_of(snapshot: Snapshot) -> Command:
    """The one command that belongs to a waiting or terminal state."""
    if snapshot.state in CALLS:
        return _call_model(snapshot)
    if snapshot.state is State.EXECUTE_TOOLS:
        answered = {result.call_id for result in (*snapshot.rejected, *snapshot.supplied)}
        calls = tuple(call for call in snapshot.calls if call.id not in answered)
        return RunTools(calls, snapshot.seconds_left)
    if snapshot.state is State.BACKOFF:
        return Wait(snapshot.wait_seconds)
    if snapshot.state is State.HELD:
        return Hold(snapshot.held_until)
    assert snapshot.end is not None, "a terminal state has an end"
    return snapshot.end


def _call_model(snapshot: Snapshot) -> CallModel:
    call, asked = snapshot.call, snapshot.asked
    assert call is not None, "a call state has its call"
    repairs = call.state is State.REQUEST_TOOL_REPAIR
    continuation = None if call.hint is None else Continuation(snapshot.answer.text, call.hint, repairs)
    prompt = asked.system_prompt
    if call.corrective:
        prompt = f"{prompt}\n\n{call.corrective}" if prompt else call.corrective
    request = ChatRequest(
        model=asked.model,
        messages=(*snapshot.messages, *call.echo),
        max_tokens=call.max_tokens,
        system_prompt=prompt,
        tools=asked.tools,
        continuation=continuation,
        envelope_schema=None if asked.any_json else asked.envelope_schema,
        extra=asked.extra,
        resume_token=call.resume_token,
    )
    return CallModel(call.kind, snapshot.spent.attempts, request, snapshot.seconds_left, snapshot.stand_in)
