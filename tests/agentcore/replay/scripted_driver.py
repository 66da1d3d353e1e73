"""Drives a turn with the second examiner's provider: calls, tools, waits, and whoever operates it."""

import copy
from dataclasses import replace

from agentcore import ChatResponse, ErrorType, Policy, ProviderError, Record, Recording, Snapshot, advance
from agentcore.commands import CallModel, Command, Finish, Hold, RunTools, Wait
from agentcore.events import (
    Event,
    ModelFailed,
    ModelResponded,
    Started,
    ToolsReturned,
    WokeUp,
)
from agentcore.machine.state_commands import command_of
from agentcore.messages import ToolCall
from tests.agentcore.replay.scripted_person import Person
from tests.agentcore.replay.scripted_provider import ScriptedProvider, number_of

_LATE = ProviderError(ErrorType.TIMEOUT, "timeout", "max_seconds")
_QUICK = 0.3  #: seconds


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
    `like`: a recording, at whose waits alone an operator does more than to release."""
    base = base or Snapshot()
    snapshot, records, command = base, list[Record](), None if started else command_of(base)
    person = Person(provider.habits, like)
    while not isinstance(command, Finish):
        event = _happens(provider, command, snapshot, person) if command else started
        assert event is not None
        step = advance(snapshot, event, policy)
        records.append(Record.of(len(records) + 1, event, step))
        snapshot, command = step.snapshot, step.command
        if kept is not None:
            kept.append(copy.deepcopy(provider))
        assert len(records) < 300, "this turn does not end"
    return Recording(policy, base, tuple(records), final=snapshot)


def _happens(provider: ScriptedProvider, command: Command, snapshot: Snapshot, person: Person) -> Event:
    match command:
        case CallModel() | RunTools():
            return _in_flight(provider, command, snapshot, person)
        case Wait(seconds=seconds):
            return WokeUp(snapshot.at + seconds)
        case Hold():
            return person.at_a_hold(snapshot)
    raise AssertionError(f"nothing answers {command}")


def _in_flight(provider: ScriptedProvider, command: CallModel | RunTools, snapshot: Snapshot, person: Person) -> Event:
    """The end of the call or of the tools, or what a person does before it. What is under way goes on meanwhile."""
    act = person.in_flight(snapshot)
    if act is not None and act.at < _ended(copy.deepcopy(provider), command, snapshot.at, 0.0).at:
        person.acted(snapshot)
        return act
    return _ended(provider, command, snapshot.at, person.elapsed(snapshot))


def _ended(provider: ScriptedProvider, command: CallModel | RunTools, at: float, elapsed: float) -> Event:
    """How it ends. `elapsed`: seconds for which it has been under way."""
    left = None if command.seconds_left is None else command.seconds_left + elapsed
    whole = replace(command, seconds_left=left)
    if isinstance(whole, RunTools):
        return _tools(provider, whole, at - elapsed)
    return _answered(provider, whole, at - elapsed)


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
