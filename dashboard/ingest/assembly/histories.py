"""The machine, told of a turn's calls one after another: so the turn has the history that one driven here has."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from agentcore.commands import CallModel, Finish, RunTools, Wait
from agentcore.errors import ErrorType
from agentcore.events import (
    Event,
    Interrupted,
    ModelFailed,
    ModelResponded,
    Setup,
    Started,
    ToolResult,
    ToolsReturned,
    WokeUp,
)
from agentcore.machine.advance import Step as Moved
from agentcore.machine.advance import advance
from agentcore.messages import NO_CAP, Message, Role, ToolCall, ToolSpec
from agentcore.policy import Policy
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.usage import likely_output, reported
from agentcore.values import quickly_made, replace
from dashboard.ingest.assembly.call_links import CallLink
from dashboard.ingest.assembly.notes import loop_failure_told
from dashboard.ingest.assembly.turn_grouping import TurnCall, TurnCalls, is_blank
from dashboard.ingest.conventions.content.shapes import NOT_TOLD
from dashboard.ingest.conventions.observations import ModelCall, ToolRun
from dashboard.ingest.conventions.tables import dialect_of
from dashboard.turns.sent_caps import DEFAULT_CAP, UNRECORDED

ENDS = "The recording ends here."
IDLE = Snapshot()
_SECOND = 10**9

#: Every breach of a tool's schema by a call's arguments.
Breaches = Callable[[Mapping[str, Any], Any], Sequence[Any]]


@quickly_made
@dataclass(frozen=True, slots=True)
class BuiltStep:
    """One step of a history. `at`: nanoseconds since 1970; `ended`: the call whose event it is."""

    event: Event
    moved: Moved
    at: int
    ended: TurnCall | None = None


@dataclass(slots=True)
class BuiltHistory:
    """A turn's, as far as it is told. `used`: how many of its calls the machine took."""

    turn: TurnCalls
    policy: Policy
    told: list[BuiltStep] = field(default_factory=list)
    used: int = 0
    _snapshot: Snapshot = IDLE

    @property
    def began(self) -> int:
        return self.turn.steps[0].call.span.start

    def tell(self, event: Event, at: int, ended: TurnCall | None = None) -> None:
        moved = advance(self._snapshot, event, self.policy)
        self.told.append(BuiltStep(event, moved, at, ended))
        self._snapshot = moved.snapshot

    @property
    def command(self) -> Any:
        return self.told[-1].moved.command

    @property
    def snapshot(self) -> Snapshot:
        return self._snapshot

    def seconds(self, at: int) -> float:
        """Since the turn began."""
        return max(0, at - self.began) / _SECOND


def history_of(
    turn: TurnCalls, policy: Policy, runs: Mapping[str, ToolRun], turn_id: str, breaches: Breaches
) -> BuiltHistory:
    """The history of the turn's calls. `runs`: tools that ran, by the id of their call."""
    history = BuiltHistory(turn, policy)
    history.tell(_started(turn, turn_id, breaches), history.began)
    for place, step in enumerate(turn.steps):
        if place and not _gone_on(history, step, runs):
            break
        if not _asks_as_it_was(history.command, step):
            break
        history.used += 1
        if turn.failure is not None and step is turn.steps[-1] and is_blank(step.call):
            break  # how it ended is not told: the loop's failure is all that is known
        history.tell(_event(history, step, turn.steps[place + 1 :]), step.call.span.end, step)
    if not isinstance(history.command, Finish):
        last = turn.steps[history.used - 1].call.span.end
        lost = ENDS if turn.failure is None else loop_failure_told(turn.failure)
        history.tell(Interrupted(history.seconds(last), lost=lost), last)
    return history


def _asks_as_it_was(command: Any, step: TurnCall) -> bool:
    """Whether the machine asks for as many tokens as were asked for. Where not, somebody else's rules were at work."""
    cap = step.call.max_tokens
    return isinstance(command, CallModel) and (cap is None or command.request.max_tokens == cap)


def _event(history: BuiltHistory, step: TurnCall, after: Sequence[TurnCall]) -> Event:
    at, error = history.seconds(step.call.span.end), step.call.error
    if error is None:
        return ModelResponded(at, step.answer)
    retried = bool(after) and after[0].joint is CallLink.RETRY
    partial = step.answer if step.call.content.answered else None
    return ModelFailed(at, replace(error, retryable=True) if retried else error, partial)


def _gone_on(history: BuiltHistory, step: TurnCall, runs: Mapping[str, ToolRun]) -> bool:
    """Whether the machine waits for this call, once it has heard what came before it."""
    at = step.call.span.start
    match history.command:
        case RunTools(calls=calls):
            results = tuple(_results(calls, step, runs))
            history.tell(ToolsReturned(history.seconds(at), results), at)
        case Wait():
            history.tell(WokeUp(history.seconds(at)), at)
    return isinstance(history.command, CallModel)


def _results(calls: Sequence[ToolCall], step: TurnCall, runs: Mapping[str, ToolRun]) -> Iterator[ToolResult]:
    """What calls came to: as the next call was told it, else as the tools' own spans tell it."""
    told = _results_told(calls, step.call.content.input or ())
    for call in calls:
        run = runs.get(call.id)
        words = told.get(call.id, None if run is None else run.result)
        failed = ErrorType.TOOL if run is not None and run.failed else None
        yield ToolResult(call.id, call.name, NOT_TOLD if words is None else words, failed)


def _results_told(calls: Sequence[ToolCall], sent: Sequence[Message]) -> dict[str, str]:
    """Results by the id of their call. Dialects without ids tell them in the order of the calls."""
    by_id = {message.tool_call_id: message.text for message in sent if message.role is Role.TOOL}
    told = {call.id: by_id[call.id] for call in calls if call.id in by_id}
    latest = list(takewhile(lambda message: message.role is Role.TOOL, reversed(sent)))[::-1]
    if not told and len(latest) == len(calls) and not any(message.tool_call_id for message in latest):
        return {call.id: message.text for call, message in zip(calls, latest, strict=True)}
    return told


def _started(turn: TurnCalls, turn_id: str, breaches: Breaches) -> Started:
    first = turn.steps[0].call
    asked = [step.call for step in turn.steps]
    cap = first.max_tokens or next((call.max_tokens for call in asked if call.max_tokens), None)
    uncapped = cap is None and all(call.uncapped for call in asked)
    setup = Setup(
        turn_id=turn_id,
        provider=dialect_of(first.provider),
        model=first.model,
        max_tokens=cap or (DEFAULT_CAP if uncapped else reckoned_cap(turn)),
        system_prompt=first.content.system or "",
        tools=tuple(_tools(turn, breaches)),
        output_floor=get_provider(dialect_of(first.provider)).output_floor,
        # Where what was sent is not recorded, the limit is what cut the answer.
        extra={} if cap else {"uncapped": NO_CAP if uncapped else UNRECORDED},
        client_tools=True if _hands_out(turn) or _wrote_itself(asked) else None,
        ending_tools=turn.ending,
    )
    messages = first.content.input or ()
    return Started(0.0, setup, messages or (Message(Role.USER, ""),))


def reckoned_cap(turn: TurnCalls) -> int:
    """The cap of a turn whose trace names none. What its cut answer used was the limit in force: with any other, the
    answer would be judged as cut below its cap, by a full context window or a limit of the server."""
    answers = [step.answer for step in turn.steps]
    if not any(answer.stop_reason is NormalizedStopReason.MAX_TOKENS for answer in answers):
        return DEFAULT_CAP
    return max(1, *(reported(answer) or likely_output(answer) for answer in answers))


def _hands_out(turn: TurnCalls) -> bool:
    """Whether it ends with tools that somebody else was to run."""
    return turn.failure is None and not turn.ending and bool(turn.steps[-1].answer.tool_calls)


def _wrote_itself(calls: Sequence[ModelCall]) -> bool:
    """Whether a client wrote a request in its own words, which a log holds."""
    return any(call.exchange is not None and call.exchange.body is not None for call in calls)


def _tools(turn: TurnCalls, breaches: Breaches) -> Iterator[ToolSpec]:
    """Those that were offered, and those that ran. A tool that took what its schema forbids has none here, for the
    machine would refuse what was not refused."""
    offered = {tool.name: tool for step in turn.steps for tool in step.call.content.tools}
    ran = [
        call
        for step, after in zip(turn.steps, turn.steps[1:], strict=False)
        if after.joint is CallLink.TOOLS
        for call in step.answer.tool_calls
    ]
    for call in ran:
        tool = offered.setdefault(call.name, ToolSpec(call.name, "", {}))
        if tool.schema and _is_breached(tool, call, breaches):
            offered[call.name] = replace(tool, schema={})
    yield from offered.values()


def _is_breached(tool: ToolSpec, call: ToolCall, breaches: Breaches) -> bool:
    try:
        return bool(breaches(tool.schema, dict(call.arguments)))
    except Exception:  # a schema that cannot be read forbids nothing
        return True
