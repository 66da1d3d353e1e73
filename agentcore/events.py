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
    """Where to hold the turn: on entering `state`, by `trigger`, on a normalized `stop_reason`, or on a call of `tool`.

    With `budget_below` (a fraction, 0 to 1): once, when less than this share of any budget is left. All fields that are
    set must match.
    """

    state: str | None = None
    trigger: str | None = None
    stop_reason: str | None = None
    tool: str | None = None
    budget_below: float | None = None


class Otherwise(StrEnum):
    """What happens to calls that were not approved in time."""

    REFUSE = "refuse"  #: each becomes an error result
    RUN = "run"  #: they run
    CANCEL = "cancel"  #: the turn is cancelled


#: The name recorded in place of a user when an approval expires.
APPROVAL_TIME_LIMIT = "the approval's time limit"
#: The result of a call that was refused, by whom it was.
NOT_APPROVED = "This call was not approved: refused by {}."


@strict()
@dataclass(frozen=True, slots=True)
class Approvals:
    """The tools whose calls a person must approve, and the time limit of an approval."""

    tools: tuple[str, ...]  #: names, as the model calls them
    seconds: float | None = None  #: None: no time limit
    otherwise: Otherwise = Otherwise.REFUSE  #: after that time

    def __post_init__(self) -> None:
        settle(self, tools=tuple, otherwise=Otherwise)


@strict()
@quickly_made
@dataclass(frozen=True, slots=True)
class Setup:
    """The request of the turn. Numbers are tokens; `ceiling` is the connection's largest output of one call."""

    turn_id: str  #: the turn's id; also the `nodeId` of envelope events
    provider: str  #: the dialect's name, used in observations
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
    #: True: the client runs the tools, and complete calls end the turn. None: the agent runs them
    client_tools: bool | None = None
    #: True: `envelope_schema` is not sent to the provider, because `extra` requests JSON with the dialect's own fields
    any_json: bool | None = None
    ending_tools: tuple[str, ...] = ()  #: names of tools whose complete calls end the turn, as with `client_tools`
    parent: str | None = None  #: the id of the turn that this one was forked or re-run from; None: there is none

    def __post_init__(self) -> None:
        settle(self, tools=tuple, ending_tools=tuple)

    def asking(self, *, max_tokens: int | None, model: str | None, system_prompt: str | None) -> "Setup":
        """A copy with these values. None keeps the current value, and so does an empty model."""
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
    """The turn starts with a user's request. Always the first event of a turn, and never a later one."""

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
    """A call returned an answer, which may be truncated, blocked or contain an error."""

    at: float  #: seconds since the turn started
    response: ChatResponse  #: the complete answer, whatever its stop reason
    draw: float = 0.5  #: the driver's random number in [0, 1), for a backoff
    waited: float | None = None  #: seconds that the call waited in a queue before it was made; None: it did not wait


@strict(draw=(0, 1))
@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A call failed without an answer."""

    at: float  #: seconds since the turn started
    error: ProviderError  #: what went wrong
    partial: ChatResponse | None = None  #: the part of the answer received before the call ended
    draw: float = 0.5  #: as of an answer
    waited: float | None = None  #: as of an answer


@strict()
@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker that performed the command has died. Another has taken over the turn, or ends it as `lost`."""

    at: float  #: seconds since the turn started
    partial: ChatResponse | None = None  #: the part received of the call in flight
    lost: str = ""  #: why the turn cannot continue, in words; empty: it continues, and the command is repeated


@strict()
@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call. `error` is None if it succeeded; `content` is the text sent to the model."""

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
    """The actions of an operator on a running turn."""

    HOLD = "hold"  #: stop at the next deciding state
    RELEASE = "release"  #: continue from the held state
    STEP = "step"  #: release, and hold again at the next deciding state
    REFUSE = "refuse"  #: release, and reject the calls that await approval: each becomes an error result
    CHANGE = "change"  #: only apply the changes in the other fields


@strict()
@dataclass(frozen=True, slots=True)
class ChangedCall:
    """New arguments for a tool call that has not run. They also complete a broken call."""

    call_id: str  #: `ToolCall.id`
    arguments: Mapping[str, Any]


@strict()
@dataclass(frozen=True, slots=True)
class OperatorActed:
    """An operator's action on a running turn. `limits` and `error_policy` contain only the changed fields."""

    at: float  #: seconds since the turn started
    by: str  #: who
    action: OperatorAction = OperatorAction.CHANGE  #: what
    limits: Mapping[str, Any] = field(default_factory=dict)
    error_policy: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None  #: of the next call
    #: True: no cap is sent from the next call on, and `max_tokens` is used for calculations only. False becomes None,
    #: which is not stored, so that earlier releases without this field can read the event
    uncapped: bool | None = None
    model: str | None = None  #: of the next call on
    system_prompt: str | None = None  #: of the next call on
    messages: tuple[Message, ...] | None = None  #: replaces the whole conversation
    tool_result: ToolResult | None = None  #: used instead of running the tool
    breakpoints: tuple[Breakpoint, ...] | None = None  #: replaces the current breakpoints
    run_to: str | None = None  #: release, and hold once on entering this deciding state
    tool_call: ChangedCall | None = None  #: of the held answer, or of the calls about to run
    answer: ChatResponse | None = None  #: used as the model's answer to the next call, or to the one in flight
    waited: float | None = None  #: as in `ModelResponded`, if a call is in flight

    def __post_init__(self) -> None:
        settle(self, action=OperatorAction, messages=tuple, uncapped=lambda given: given or None)


@strict()
@dataclass(frozen=True, slots=True)
class CancelRequested:
    """A person ended the turn."""

    at: float  #: seconds since the turn started
    by: str = ""  #: who
    partial: ChatResponse | None = None  #: the part received of the call in flight
    waited: float | None = None  #: as in `ModelResponded`, if a call is in flight


#: Any event. `advance` accepts one of these.
Event = Started | ModelResponded | ModelFailed | Interrupted | ToolsReturned | WokeUp | OperatorActed | CancelRequested
