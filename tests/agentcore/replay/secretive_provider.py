"""A provider that hides what it can: reasoning that no usage tells, cuts that are called ends, a JSON grammar that
begins anew at each continuation. Turns are really run with it, under any policy."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore import (
    ChatRequest,
    ChatResponse,
    ErrorPolicy,
    ErrorType,
    Limits,
    Message,
    Policy,
    ProviderError,
    Recording,
    Role,
    Setup,
    Snapshot,
    TokenUsage,
    ToolCall,
    advance,
)
from agentcore.commands import CallModel, Command, RunTools, Wait
from agentcore.criteria.builtin import ResponseContentCheck
from agentcore.events import Event, ModelFailed, ModelResponded, Started, ToolResult, ToolsReturned, WokeUp
from agentcore.policy import Violation
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Record

MOST_RECORDS = 150
_DROPPED = ProviderError(ErrorType.MODEL, "connection", "closed early")
_LATE = ProviderError(ErrorType.TIMEOUT, "timeout", "max_seconds")


@dataclass(frozen=True, slots=True)
class Secretive:
    """What it has to say, by iteration: tokens of text, and whether a tool is called then. `share`, `fixed`: tokens of
    reasoning, of the cap and beside. `told`: how the usage tells it: `in_output`, `left_out`, `none` at all;
    `open`: it says that there is none."""

    says: tuple[tuple[tuple[str, ...], bool], ...]
    share: float = 0.0
    fixed: int = 0
    told: str = "in_output"
    lies: bool = False  #: it calls a cut an end
    json: bool = False  #: a grammar writes it, anew at each call
    prefill: bool = True
    drops: Mapping[int, int] = field(default_factory=dict)  #: tokens of text after which a call breaks off, by attempt
    pace: float = 0.01  #: seconds of a token


@dataclass
class Server:
    """One turn's conversation with it."""

    model: Secretive
    attempts: int = 0
    said: dict[int, int] = field(default_factory=dict)  #: tokens of text so far, by iteration

    def answer(self, request: ChatRequest, at: float, left: float | None) -> Event:
        self.attempts += 1
        place = sum(bool(m.tool_calls) for m in request.messages) + sum(m.role is Role.USER for m in request.messages)
        text, calls = self.model.says[min(place, len(self.model.says)) - 1]
        start = self._start(request, place, len(text))
        reasoning = min(request.max_tokens, self.model.fixed + int(self.model.share * request.max_tokens))
        spoken = text[start : start + request.max_tokens - reasoning]
        rest = request.max_tokens - reasoning - len(spoken)
        cut = start + len(spoken) < len(text) or (calls and rest < 2)
        self.said[place] = start + len(spoken)
        seconds = 0.2 + self.model.pace * (reasoning + len(spoken))
        if (broke := self.model.drops.get(self.attempts)) is not None:
            return self._broken(place, start, spoken[:broke], at + 0.2, _DROPPED)
        if left is not None and seconds > left:
            arrived = max(0, int((left - 0.2) / self.model.pace) - reasoning)
            return self._broken(place, start, spoken[:arrived], at + left, _LATE)
        return ModelResponded(at + seconds, self._said(spoken, reasoning, cut=cut, called=calls and not cut))

    def _start(self, request: ChatRequest, place: int, length: int) -> int:
        going_on = request.continuation
        if going_on is None or not going_on.text.strip() or self.model.json:
            return length if going_on is not None and going_on.repairs else 0
        return length if going_on.repairs else self.said.get(place, 0)

    def _broken(self, place: int, start: int, spoken: tuple[str, ...], at: float, error: ProviderError) -> Event:
        self.said[place] = start + len(spoken)
        text = "".join(spoken)
        return ModelFailed(at, error, ChatResponse(text=text) if text else None)

    def _said(self, spoken: tuple[str, ...], reasoning: int, *, cut: bool, called: bool) -> ChatResponse:
        call = ToolCall(f"call-{self.attempts}", "look", {"n": 1}, '{"n": 1}')
        output = len(spoken) + 2 * called + (0 if self.model.told == "left_out" else reasoning)
        none = self.model.told == "open" or None
        usage = None if self.model.told == "none" else TokenUsage(10, output, no_reasoning=none)
        reason = NormalizedStopReason.TOOL_CALL if called else NormalizedStopReason.END_TURN
        if cut and not self.model.lies:
            reason = NormalizedStopReason.MAX_TOKENS
        return ChatResponse("".join(spoken), (call,) if called else (), usage=usage, stop_reason=reason)


def setup_of(model: Secretive, max_tokens: int) -> Setup:
    extra: dict[str, Any] = {"prefill": model.prefill}
    schema = {"type": "object"} if model.json else None
    if model.json:
        extra["response_format"] = {"type": "json_object"}
    return Setup("t", "openai", "m", max_tokens, extra=extra, envelope_schema=schema, any_json=model.json or None)


def really(model: Secretive, max_tokens: int, policy: Policy) -> Recording | None:
    """The turn, run to its end; None where that takes too many records."""
    server, snapshot, records = Server(model), Snapshot(), list[Record]()
    event: Event = Started(0.0, setup_of(model, max_tokens), (Message(Role.USER, "question"),))
    while len(records) < MOST_RECORDS:
        step = advance(snapshot, event, policy)
        records.append(Record.of(len(records) + 1, event, step))
        snapshot = step.snapshot
        if snapshot.end is not None:
            return Recording(policy, Snapshot(), tuple(records), final=snapshot)
        event = _performed(server, step.command, snapshot.at)
    return None


def _performed(server: Server, command: Command, at: float) -> Event:
    if isinstance(command, CallModel):
        return server.answer(command.request, at, command.seconds_left)
    if isinstance(command, Wait):
        return WokeUp(at + command.seconds)
    assert isinstance(command, RunTools), "nobody holds these turns"
    return ToolsReturned(at + 0.1, tuple(ToolResult(call.id, call.name, "done") for call in command.calls))


def objects_only(_schema: Mapping[str, Any], value: Any) -> list[Violation]:
    return [] if isinstance(value, dict) else [Violation("", "/type", "type", "not an object")]


#: Each with the fields of `Secretive` that it draws from.
CLASSES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "nothing to hide": {"told": ("open",)},
    "hidden in the output": {"share": (0.03, 0.3, 0.6), "fixed": (0, 40)},
    "left out of the usage": {"share": (0.1, 0.5), "fixed": (0, 30), "told": ("left_out",)},
    "left out, and a cut is called an end": {"share": (0.2, 0.6), "told": ("left_out", "none"), "lies": (True,)},
    "a grammar that begins anew": {"json": (True,), "fixed": (0, 0, 20)},
    "criteria and errors": {"drops": ({}, {1: 0}, {1: 3}, {2: 5}), "share": (0.0, 0.0, 0.4)},
}


def drawn(name: str, seed: int) -> tuple[Secretive, random.Random]:
    chance = random.Random(f"{name} {seed}")
    length = round(2 ** chance.uniform(1, 7))
    says = [(_text(chance, chance.randint(1, 20)), True)] * (chance.random() < 0.4) + [(_text(chance, length), False)]
    fields = {key: chance.choice(values) for key, values in CLASSES[name].items()}
    if fields.get("json"):
        says = [(_object(chance, length), False)]
    return Secretive(tuple(says), prefill=chance.random() < 0.6, **fields), chance


def _text(chance: random.Random, tokens: int) -> tuple[str, ...]:
    density = chance.choice((1, 2, 4, 7))
    letters = "abcdefghij klmnop"
    return tuple("".join(chance.choice(letters) for _ in range(density)) for _ in range(tokens))


def _object(chance: random.Random, words: int) -> tuple[str, ...]:
    text = json.dumps({"k": [chance.randrange(1000) for _ in range(words)]})
    return tuple(text[place : place + 4] for place in range(0, len(text), 4))


def policy_of(chance: random.Random, name: str, max_tokens: int | None = None) -> Policy:
    limits: dict[str, Any] = {"max_continuations": chance.choice((0, 1, 3, 8))}
    for key, values in (("max_total_tokens", (60, 300)), ("max_seconds", (0.5, 2.0)), ("schema_rounds", (0, 1, 3))):
        if chance.random() < 0.25:
            limits[key] = chance.choice(values)
    edited = name == "criteria and errors"
    errors = chance.choice((ErrorPolicy(), ErrorPolicy.retry_all(3))) if edited else ErrorPolicy()
    criteria: tuple[Any, ...] = ()
    if edited and chance.random() < 0.5:
        enough = chance.choice((10, 200))
        criteria = (ResponseContentCheck(lambda text: len(text) < enough, chance.choice(("more", "go on"))),)
    return Policy(Limits(**limits), errors, max_tokens=max_tokens, validate=objects_only, criteria=criteria)


def cap_of(chance: random.Random, model: Secretive) -> int:
    length = len(model.says[-1][0])
    near = max(1, length + chance.choice((-3, -1, 0, 1, 5)))
    return chance.choice((near, round(2 ** chance.uniform(1, 10))))
