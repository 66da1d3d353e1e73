"""Drives a turn with the second examiner's provider: calls, tools, waits, and whoever operates it."""

import copy

from agentcore import ChatResponse, ErrorType, Policy, ProviderError, Record, Recording, Snapshot, advance
from agentcore.commands import CallModel, Command, Finish, Hold, RunTools, Wait
from agentcore.events import (
    CancelRequested,
    Event,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    OperatorAction,
    Started,
    ToolsReturned,
    WokeUp,
)
from agentcore.machine.state_commands import command_of
from agentcore.messages import ToolCall
from agentcore.replay.record_spans import fold
from tests.agentcore.replay.scripted_provider import ScriptedProvider, number_of

_LATE = ProviderError(ErrorType.TIMEOUT, "timeout", "max_seconds")
_QUICK = 0.3  #: seconds
_CHANGES = ({"max_continuations": 6}, {"max_total_completion_tokens": 90}, {}, {})

Place = tuple[object, ...]


def drive(
    provider: ScriptedProvider,
    policy: Policy,
    started: Started | None = None,
    *,
    base: Snapshot | None = None,
    kept: list[ScriptedProvider] | None = None,
    like: Recording | None = None,
) -> Recording:
    """A turn from its start, or from a fork's base, to its end. `kept`: the provider as it was after each record;
    `like`: a recording, at whose holds alone an operator does more than to release."""
    base = base or Snapshot()
    snapshot, records, command = base, list[Record](), None if started else command_of(base)
    acts = None if like is None else _acts(like)
    while not isinstance(command, Finish):
        event = _happens(provider, command, snapshot, acts) if command else started
        assert event is not None
        step = advance(snapshot, event, policy)
        records.append(Record.of(len(records) + 1, event, step))
        snapshot, command = step.snapshot, step.command
        if kept is not None:
            kept.append(copy.deepcopy(provider))
        assert len(records) < 300, "this turn does not end"
    return Recording(policy, base, tuple(records), final=snapshot)


def _place(snapshot: Snapshot) -> Place:
    return snapshot.iteration, snapshot.held_state, snapshot.spent.attempts


def _acts(recording: Recording) -> dict[Place, Event]:
    spans = fold(recording)
    return {_place(one.before): one.record.event for one in spans if one.before.held_state is not None}


def _happens(
    provider: ScriptedProvider, command: Command, snapshot: Snapshot, acts: dict[Place, Event] | None
) -> Event:
    at = snapshot.at
    match command:
        case CallModel():
            return _answered(provider, command, at)
        case RunTools():
            return _tools(provider, command, at)
        case Wait(seconds=seconds):
            return WokeUp(at + seconds)
        case Hold():
            known = acts is None or _place(snapshot) in acts
            return _operated(provider, snapshot) if known else _released(at)
    raise AssertionError(f"nothing answers {command}")


def _released(at: float) -> Event:
    return OperatorActed(at + 2.0, "ada", OperatorAction.RELEASE)


def _operated(provider: ScriptedProvider, snapshot: Snapshot) -> Event:
    """What a person does at this hold: the same whenever it comes to it."""
    drawn = number_of(provider.habits.seed, *_place(snapshot))
    if snapshot.approving:
        return OperatorActed(snapshot.at + 2.0, "ada", OperatorAction.REFUSE if drawn % 2 else OperatorAction.RELEASE)
    if drawn % 5 == 0:
        return CancelRequested(snapshot.at + 2.0, "ada")
    return OperatorActed(snapshot.at + 2.0, "ada", OperatorAction.RELEASE, limits=_CHANGES[drawn % len(_CHANGES)])


def _tools(provider: ScriptedProvider, command: RunTools, at: float) -> Event:
    left = command.seconds_left
    times = [_seconds(provider, call, place) for place, call in enumerate(command.calls)]
    late = [left is not None and seconds > left for seconds in times]
    results = tuple(provider.tool(call, late=ended) for call, ended in zip(command.calls, late, strict=True))
    return ToolsReturned(at + (left if left is not None and any(late) else max(times, default=0.0)), results)


def _seconds(provider: ScriptedProvider, call: ToolCall, place: int) -> float:
    most = provider.habits.tool_seconds
    return _QUICK if most is None else most * (1 + number_of(provider.habits.seed, call.raw, place) % 3) / 3


def _answered(provider: ScriptedProvider, command: CallModel, at: float) -> Event:
    response, error, seconds = provider.answer(command.request, command.attempt)
    left, wait = command.seconds_left, provider.habits.wait
    waited = provider.habits.waits_in_line or None
    line = waited or 0.0
    if left is not None and seconds > left:
        share = max(0.0, left - wait) / max(1e-9, seconds - wait)
        arrived = response.text[: int(len(response.text) * share)] if response else ""
        partial = ChatResponse(arrived, incomplete_stream=True) if arrived else None
        return ModelFailed(at + left + line, _LATE, partial, waited=waited)
    if error is None and response is not None:
        return ModelResponded(at + seconds + line, response, waited=waited)
    assert error is not None
    return ModelFailed(at + seconds + line, error, response, waited=waited)
