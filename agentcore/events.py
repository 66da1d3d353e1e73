"""Events: facts from outside, the machine's only input. `at` is in seconds since the turn started."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentcore.argument_validation import strict
from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import ChatResponse, Message, ToolSpec
from agentcore.reasons import NormalizedStopReason
from agentcore.states import State, Trigger
from agentcore.values import quickly_made, replace, settle


@strict(budget_below=(0, 1), state=State, trigger=Trigger, stop_reason=NormalizedStopReason)
@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where to hold: on entering `state`, by `trigger`, on a normalized `stop_reason`, on a call of `tool`.

    Or once when less than `budget_below` of any budget is left (a fraction, 0 to 1). All that is set must match.
    """

    state: str | None = None
    trigger: str | None = None
    stop_reason: str | None = None
    tool: str | None = None
    budget_below: float | None = None


class Otherwise(StrEnum):
    """What happens to calls that were not approved in time."""

    REFUSE = "refuse"  #: each comes to an error result
    RUN = "run"  #: they run
    CANCEL = "cancel"  #: the turn is cancelled


#: The user named for a refusal, release or cancellation when the time to approve is over.
APPROVAL_TIME_LIMIT = "the approval's time limit"


@strict()
@dataclass(frozen=True, slots=True)
class Approvals:
    """The tools that run only once a person has approved their calls, and how long that is waited for."""

    tools: tuple[str, ...]  #: names, as the model calls them
    seconds: float | None = None  #: None: for ever
    otherwise: Otherwise = Otherwise.REFUSE  #: after that time

    def __post_init__(self) -> None:
        settle(self, tools=tuple, otherwise=Otherwise)


@strict()
@quickly_made
@dataclass(frozen=True, slots=True)
class Setup:
    """The request of the turn. Numbers are tokens; `ceiling` is the connection's largest output of one call."""

    turn_id: str  #: the turn's id; also the `nodeId` of envelope events
    provider: str  #: the dialect's name, for observations
    model: str  #: as the provider knows it
    max_tokens: int  #: of the first call
    system_prompt: str = ""  #: empty: none
    tools: tuple[ToolSpec, ...] = ()  #: what the model may call
    envelope_schema: Mapping[str, Any] | None = None  #: JSON Schema of a structured answer; None: free text
    ceiling: int | None = None
    context_window: int | None = None  #: input and output together; None: not known
    output_floor: int = 1  #: the smallest output limit the dialect takes
    extra: Mapping[str, Any] = field(default_factory=dict)  #: settings of the connection, and fields for the body
    approvals: Approvals | None = None  #: None: every tool may run
    client_tools: bool | None = None  #: True: who asked runs the tools; whole calls end the turn. None: we run them
    #: True: the provider is not told `envelope_schema`, for `extra` asks for JSON in the dialect's own words
    any_json: bool | None = None
    ending_tools: tuple[str, ...] = ()  #: names of tools whose whole calls end the turn, as those of `client_tools` do
    parent: str | None = None  #: the id of the turn that this one was forked or re-run from; None: there is none

    def __post_init__(self) -> None:
        settle(self, tools=tuple, ending_tools=tuple)

    def asking(self, *, max_tokens: int | None, model: str | None, system_prompt: str | None) -> "Setup":
        """The same with these in place of its own; None leaves what there is, and so does an empty model."""
        if max_tokens is None and not model and system_prompt is None:
            return self
        return replace(
            self,
            max_tokens=self.max_tokens if max_tokens is None else max_tokens,
            model=model or self.model,
            system_prompt=self.system_prompt if system_prompt is None else system_prompt,
            extra=self.extra if max_tokens is None else without_uncapped(self.extra),
        )


def without_uncapped(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings that do not leave the cap to the provider."""
    if "uncapped" not in extra:
        return extra
    return {name: value for name, value in extra.items() if name != "uncapped"}


@strict(messages=(1, None))
@quickly_made
@dataclass(frozen=True, slots=True)
class Started:
    """A user asked. The first event of a turn, and only that."""

    at: float  #: seconds since the turn started
    setup: Setup  #: the request of the turn
    messages: tuple[Message, ...]  #: the conversation, ending with the user's input
    breakpoints: tuple[Breakpoint, ...] = ()  #: where to hold

    def __post_init__(self) -> None:
        settle(self, messages=tuple, breakpoints=tuple)


@strict(draw=(0, 1))
@quickly_made
@dataclass(frozen=True, slots=True)
class ModelResponded:
    """A call came back with an answer, also one that was cut, blocked or holds an error."""

    at: float  #: seconds since the turn started
    response: ChatResponse  #: the whole answer, whatever its reason
    draw: float = 0.5  #: the driver's chance in [0, 1), for a backoff
    waited: float | None = None  #: seconds of these that the call stood in line before it was made; None: it did not


@strict(draw=(0, 1))
@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A call came back with no answer to judge."""

    at: float  #: seconds since the turn started
    error: ProviderError  #: what went wrong
    partial: ChatResponse | None = None  #: what had arrived when the call ended
    draw: float = 0.5  #: as of an answer
    waited: float | None = None  #: as of an answer


@strict()
@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker that performed the command is gone; another has taken the turn over, or ends it as `lost`."""

    at: float  #: seconds since the turn started
    partial: ChatResponse | None = None  #: what had arrived of the call in flight
    lost: str = ""  #: why the turn cannot continue, in words; empty: it continues, and the command is repeated


@strict()
@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one tool call came to. `error` is None where it succeeded; `content` is what the model reads."""

    call_id: str  #: `ToolCall.id`
    name: str  #: of the tool
    content: str
    error: ErrorType | None = None

    def __post_init__(self) -> None:
        settle(self, error=ErrorType)


@strict()
@dataclass(frozen=True, slots=True)
class ToolsReturned:
    """The tools of a `RunTools` have run. A call without a result becomes an error result."""

    at: float  #: seconds since the turn started
    results: tuple[ToolResult, ...] = ()  #: one per requested call, in any order

    def __post_init__(self) -> None:
        settle(self, results=tuple)


@strict()
@dataclass(frozen=True, slots=True)
class WokeUp:
    """The delay of a `Wait` is over."""

    at: float  #: seconds since the turn started


class OperatorAction(StrEnum):
    """What an operator may do to a running turn."""

    HOLD = "hold"  #: stop at the next deciding state
    RELEASE = "release"  #: go on from where it is held
    STEP = "step"  #: release, and hold again at the next deciding state
    REFUSE = "refuse"  #: release, and let the calls that wait for approval come to errors
    CHANGE = "change"  #: only what the other fields say


@strict()
@dataclass(frozen=True, slots=True)
class ChangedCall:
    """Other arguments for a tool call that has not run; a broken one becomes whole by them."""

    call_id: str  #: `ToolCall.id`
    arguments: Mapping[str, Any]


@strict()
@dataclass(frozen=True, slots=True)
class OperatorActed:
    """Who did what to a running turn. `limits` and `error_policy` hold only the fields that change."""

    at: float  #: seconds since the turn started
    by: str  #: who
    action: OperatorAction = OperatorAction.CHANGE  #: what
    limits: Mapping[str, Any] = field(default_factory=dict)
    error_policy: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None  #: of the next call
    #: True: none is sent from the next call on; `max_tokens` is then what is only calculated with. False becomes None,
    #: which is not written: earlier releases, which do not know the field, can then read the event
    uncapped: bool | None = None
    model: str | None = None  #: of the next call on
    system_prompt: str | None = None  #: of the next call on
    messages: tuple[Message, ...] | None = None  #: the whole conversation in place of the turn's own
    tool_result: ToolResult | None = None  #: given in place of running the tool
    breakpoints: tuple[Breakpoint, ...] | None = None  #: in place of those there are
    run_to: str | None = None  #: released, and held once more on entering this deciding state
    tool_call: ChangedCall | None = None  #: of the answer that is held, or about to run
    answer: ChatResponse | None = None  #: to the next call of the model, or the one in flight, in the model's place
    waited: float | None = None  #: as of an answer, where a call is in flight

    def __post_init__(self) -> None:
        settle(self, action=OperatorAction, messages=tuple, uncapped=lambda given: given or None)


@strict()
@dataclass(frozen=True, slots=True)
class CancelRequested:
    """A person ended the turn."""

    at: float  #: seconds since the turn started
    by: str = ""  #: who
    partial: ChatResponse | None = None  #: what had arrived of the call in flight
    waited: float | None = None  #: as of an answer, where a call is in flight


#: What may happen; `advance` takes one of these.
Event = Started | ModelResponded | ModelFailed | Interrupted | ToolsReturned | WokeUp | OperatorActed | CancelRequested
