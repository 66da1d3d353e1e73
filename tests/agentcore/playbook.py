"""Stories of a turn that read as conversations: `>>` is what happens, `<<` is what the machine must ask for then.

Every story that ends is replayed from its JSON, so each test of behaviour is a test of replay and storage too.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentcore import (
    AttemptKind,
    ChatResponse,
    ErrorType,
    Message,
    NormalizedStopReason,
    Policy,
    ProviderError,
    Record,
    Recording,
    Role,
    Snapshot,
    State,
    Step,
    StopReason,
    TokenUsage,
    ToolCall,
    ToolSpec,
    Trigger,
    TurnStatus,
    advance,
    serial,
    verify,
)
from agentcore.commands import CallModel, Finish, Hold, RunTools, Wait
from agentcore.events import (
    Breakpoint,
    CancelRequested,
    Event,
    Interrupted,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    OperatorAction,
    Setup,
    Started,
    ToolResult,
    ToolsReturned,
    WokeUp,
)
from agentcore.messages import CallIssue
from agentcore.policy import Limits, Violation

Move = Callable[["Playbook"], Event]
Expectation = Callable[["Playbook"], None]

CALCULATOR = ToolSpec("calculator", "Computes.", {"type": "object", "required": ["expression"]})
CLOCK = ToolSpec("clock", "Tells the time.", {"type": "object"})


def requires(schema: Mapping[str, Any], value: Any) -> list[Violation]:
    """A validator that knows `required` and nothing else."""
    missing = [name for name in schema.get("required", []) if not isinstance(value, dict) or name not in value]
    return [Violation("", "/required", "required", f"“{name}” is missing") for name in missing]


@dataclass(frozen=True)
class Playbook:
    """A turn being told. Setup's fields and limits are given by name; each event comes one second after the last."""

    policy: Policy
    setup: Setup
    snapshot: Snapshot = field(default_factory=Snapshot)
    steps: tuple[Step, ...] = ()
    records: tuple[Record, ...] = ()

    def __init__(
        self, *, policy: Policy | None = None, max_tokens: int = 60, limits: Limits | None = None, **asked: Any
    ):
        limits_names = Limits.__dataclass_fields__
        changes = {name: asked.pop(name) for name in list(asked) if name in limits_names}
        policy_names = Policy.__dataclass_fields__
        rules = {name: asked.pop(name) for name in list(asked) if name in policy_names}
        given = policy or Policy(limits=limits or Limits(), validate=requires)
        given = replace(given, limits=replace(given.limits, **changes) if changes else given.limits, **rules)
        setup = {"turn_id": "turn", "provider": "openai", "model": "m", "tools": (CALCULATOR, CLOCK), **asked}
        object.__setattr__(self, "policy", given)
        object.__setattr__(self, "setup", Setup(max_tokens=max_tokens, **setup))
        object.__setattr__(self, "snapshot", Snapshot())
        object.__setattr__(self, "steps", ())
        object.__setattr__(self, "records", ())

    def __rshift__(self, move: Move | Event) -> "Playbook":
        event = move(self) if callable(move) else move
        event = replace(event, at=event.at or self.snapshot.at + 1.0)
        step = advance(self.snapshot, event, self.policy)
        told = object.__new__(Playbook)
        record = Record.of(len(self.records) + 1, event, step)
        later = {"snapshot": step.snapshot, "steps": (*self.steps, step), "records": (*self.records, record)}
        for name, value in {"policy": self.policy, "setup": self.setup, **later}.items():
            object.__setattr__(told, name, value)
        return told

    def __lshift__(self, expected: Expectation) -> "Playbook":
        expected(self)
        return self

    @property
    def step(self) -> Step:
        return self.steps[-1]

    @property
    def command(self) -> Any:
        return self.step.command

    @property
    def end(self) -> Finish:
        assert isinstance(self.command, Finish), f"the turn is still {self.snapshot.state}"
        return self.command

    @property
    def recording(self) -> Recording:
        return Recording(self.policy, Snapshot(), self.records, final=self.snapshot)

    @property
    def moves(self) -> list[tuple[State, Trigger, State]]:
        return [(t.source, t.trigger, t.target) for step in self.steps for t in step.transitions]

    @property
    def triggers(self) -> list[Trigger]:
        return [trigger for _, trigger, _ in self.moves]

    def observed(self, name: str) -> list[Mapping[str, Any]]:
        return [seen.fields for step in self.steps for seen in step.observed if seen.type == name]

    def stored(self) -> Recording:
        """The recording as a database gives it back: through JSON text."""
        records = tuple(
            Record(
                record.seq,
                serial.event_from_json(json.loads(json.dumps(serial.event_to_json(record.event)))),
                tuple(json.loads(json.dumps(record.transitions))),
                json.loads(json.dumps(record.command)),
                tuple(json.loads(json.dumps(record.observed))),
            )
            for record in self.records
        )
        policy = serial.policy_from_json(json.loads(json.dumps(serial.to_json(self.policy))))
        ours = self.policy
        policy = replace(policy, validate=ours.validate, repair=ours.repair, criteria=ours.criteria)
        return Recording(policy, Snapshot(), records)


# What happens ---------------------------------------------------------------------------------------------------------


def said(text: str = "", *calls: ToolCall, reason: NormalizedStopReason | None = None) -> ChatResponse:
    """What an operator answers in the model's place."""
    natural = NormalizedStopReason.TOOL_CALL if calls else NormalizedStopReason.END_TURN
    return ChatResponse(text, calls, stop_reason=reason or natural)


def started(text: str = "tell me", *, breakpoints: tuple[Breakpoint, ...] = (), parent: str | None = None) -> Move:
    said = (Message(Role.USER, text),)
    return lambda book: Started(0.0, replace(book.setup, parent=parent), said, breakpoints)


def responded(response: ChatResponse, *, draw: float = 0.5) -> Event:
    return ModelResponded(0.0, response, draw)


def usage(output: int, prompt: int = 10) -> TokenUsage:
    return TokenUsage(prompt, output)


def worded(word: str, tokens: int) -> str:
    """A text that so many tokens are no wonder for."""
    return f"{word:.<4} " * tokens


def truncated(text: str = "", *, tokens: int | None = 10, **more: Any) -> Event:
    used = None if tokens is None else usage(tokens)
    reason = NormalizedStopReason.MAX_TOKENS
    return responded(ChatResponse(text, usage=used, stop_reason=reason, raw_stop_reason="length", **more))


def ended(text: str = "", *, tokens: int | None = 5, **more: Any) -> Event:
    used = None if tokens is None else usage(tokens)
    reason = NormalizedStopReason.END_TURN
    return responded(ChatResponse(text, usage=used, stop_reason=reason, raw_stop_reason="stop", **more))


def stopped(reason: NormalizedStopReason, raw: str | None, text: str = "", **more: Any) -> Event:
    return responded(ChatResponse(text, usage=usage(5), stop_reason=reason, raw_stop_reason=raw, **more))


def unknown(raw: str | None, text: str = "", **more: Any) -> Event:
    return stopped(NormalizedStopReason.UNKNOWN, raw, text, **more)


def paused(text: str = "", *, echo: Any = "kept") -> Event:
    return stopped(NormalizedStopReason.PAUSED, "pause_turn", text, echo=echo)


def blocked(text: str = "", *, tokens: int | None = 5) -> Event:
    used = None if tokens is None else usage(tokens)
    reason = NormalizedStopReason.SAFETY_BLOCKED
    return responded(ChatResponse(text, usage=used, stop_reason=reason, raw_stop_reason="content_filter"))


def call(name: str = "calculator", id: str = "a", **arguments: Any) -> ToolCall:
    if name == "calculator" and not arguments:
        arguments = {"expression": "1+1"}
    return ToolCall(id, name, arguments, json.dumps(arguments))


def broken(issue: CallIssue = CallIssue.TRUNCATED, id: str = "a") -> ToolCall:
    return ToolCall(id, "calculator", raw='{"expression": "1', issue=issue, shown_whole=False)


def called(*calls: ToolCall, text: str = "", tokens: int = 5) -> Event:
    reason = NormalizedStopReason.TOOL_CALL
    return responded(ChatResponse(text, calls, usage=usage(tokens), stop_reason=reason, raw_stop_reason="tool_calls"))


def cut_call(text: str = "", issue: CallIssue = CallIssue.TRUNCATED, **more: Any) -> Event:
    return truncated(text, broken_tool_calls=(broken(issue),), **more)


def malformed_call(text: str = "") -> Event:
    reason = NormalizedStopReason.TOOL_CALL
    bad = (broken(CallIssue.MALFORMED),)
    return responded(ChatResponse(text, broken_tool_calls=bad, usage=usage(5), stop_reason=reason))


def error(
    type: ErrorType = ErrorType.MODEL, *, partial: str | None = None, draw: float = 0.5, tokens: int = 4, **more: Any
) -> Event:
    kind = more.pop("kind", type.value)
    said = None if partial is None else ChatResponse(partial, usage=usage(tokens))
    return ModelFailed(0.0, ProviderError(type, kind, "It broke.", **more), said, draw)


def interrupted(partial: str | None = None) -> Event:
    return Interrupted(0.0, None if partial is None else ChatResponse(partial, usage=usage(4)))


def lost(partial: str | None = None, why: str = "Its process is gone.") -> Event:
    return Interrupted(0.0, None if partial is None else ChatResponse(partial, usage=usage(4)), lost=why)


def cancelled(partial: str | None = None, by: str = "ada") -> Event:
    return CancelRequested(0.0, by, None if partial is None else ChatResponse(partial, usage=usage(4)))


def woke_up() -> Event:
    return WokeUp(0.0)


def tools_returned(*results: ToolResult) -> Move:
    """The results given, and “done” from every other call that was to run."""

    def event(book: Playbook) -> Event:
        given = {result.call_id for result in results}
        asked = book.command.calls if isinstance(book.command, RunTools) else ()
        rest = (ToolResult(c.id, c.name, "done") for c in asked if c.id not in given)
        return ToolsReturned(0.0, (*results, *rest))

    return event


def tool_failed(id: str = "a", type: ErrorType = ErrorType.TOOL) -> ToolResult:
    return ToolResult(id, "calculator", "division by zero", type)


def operator(action: OperatorAction = OperatorAction.CHANGE, **changes: Any) -> Event:
    return OperatorActed(0.0, "ada", action, **changes)


def released(**changes: Any) -> Event:
    return operator(OperatorAction.RELEASE, **changes)


# What the machine must ask for then -----------------------------------------------------------------------------------


def call_model(kind: AttemptKind, *, continues: str | None = None, **fields: Any) -> Expectation:
    """A call of this kind. `continues`: the text that goes along to be continued; other fields are the request's."""

    def check(book: Playbook) -> None:
        command = book.command
        assert isinstance(command, CallModel), command
        assert command.kind is kind
        if continues is not None:
            assert command.request.continuation is not None
            assert command.request.continuation.text == continues
        assert {name: getattr(command.request, name) for name in fields} == fields

    return check


def run_tools(*names: str) -> Expectation:
    def check(book: Playbook) -> None:
        assert isinstance(book.command, RunTools), book.command
        assert [c.name for c in book.command.calls] == list(names)

    return check


def wait(seconds: float) -> Expectation:
    def check(book: Playbook) -> None:
        assert book.command == Wait(seconds)

    return check


def stand_in(book: Playbook) -> Event:
    """What a driver answers a call with that an operator has answered already."""
    assert isinstance(book.command, CallModel)
    assert book.command.answer is not None, "nobody has answered in the model's place"
    return responded(book.command.answer)


def hold(state: State | None = None, deadline: float | None = None) -> Expectation:
    def check(book: Playbook) -> None:
        assert book.command == Hold(deadline)
        assert state in (None, book.snapshot.held_state)

    return check


def finish(
    text: str | None = None,
    stop_reason: StopReason | None = None,
    status: TurnStatus | None = None,
    terminal: str | None = None,
    **fields: Any,
) -> Expectation:
    """The end; and what was recorded, read back from JSON, verifies."""
    wanted = {"output_text": text, "stop_reason": stop_reason, "status": status, "terminal_reason": terminal, **fields}

    def check(book: Playbook) -> None:
        end = book.end
        found = {name: getattr(end, name) for name in wanted}
        assert found == {name: found[name] if value is None else value for name, value in wanted.items()}
        if end.status is TurnStatus.PARTIAL:
            assert end.notice
            assert end.notice not in end.output_text
        verification = verify(book.stored())
        assert verification.verified, verification.divergence

    return check


def play(*events: Event | Move, breakpoints: tuple[Breakpoint, ...] = (), **given: Any) -> Playbook:
    """A turn under `given`, from its start through these events."""
    book = Playbook(**given) >> started(breakpoints=breakpoints)
    for event in events:
        book = book >> event
    return book
