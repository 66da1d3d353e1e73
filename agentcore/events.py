"""Facts from outside, past tense: the machine's only input. `at` is in seconds since the turn started."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import ChatResponse, Message, ToolSpec


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where to hold: on entering `state`, by `trigger`, on a normalized `stop_reason`, on a call of `tool`.

    All that is set must match.
    """

    state: str | None = None
    trigger: str | None = None
    stop_reason: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """What the turn is asked with. Numbers are tokens; `ceiling` is the connection's largest output of one call."""

    turn_id: str
    provider: str
    model: str
    max_tokens: int
    system_prompt: str = ""
    tools: tuple[ToolSpec, ...] = ()
    envelope_schema: Mapping[str, Any] | None = None
    ceiling: int | None = None
    context_window: int | None = None
    output_floor: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    at: float
    setup: Setup
    messages: tuple[Message, ...]
    breakpoints: tuple[Breakpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelResponded:
    at: float
    response: ChatResponse
    draw: float = 0.5  #: the driver's chance in [0, 1), for a backoff


@dataclass(frozen=True, slots=True)
class ModelFailed:
    at: float
    error: ProviderError
    partial: ChatResponse | None = None  #: what had arrived when the call ended
    draw: float = 0.5


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker that performed the command is gone; another has taken the turn over."""

    at: float
    partial: ChatResponse | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one tool call came to. `error` is None where it succeeded; `content` is what the model reads."""

    call_id: str
    name: str
    content: str
    error: ErrorType | None = None


@dataclass(frozen=True, slots=True)
class ToolsReturned:
    at: float
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class WokeUp:
    at: float


class OperatorAction(StrEnum):
    HOLD = "hold"  #: stop at the next deciding state
    RELEASE = "release"
    STEP = "step"  #: release, and hold again at the next deciding state
    CHANGE = "change"  #: only what the other fields say


@dataclass(frozen=True, slots=True)
class OperatorActed:
    """Who did what to a running turn. `limits` and `error_policy` hold only the fields that change."""

    at: float
    by: str
    action: OperatorAction = OperatorAction.CHANGE
    limits: Mapping[str, Any] = field(default_factory=dict)
    error_policy: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None
    model: str | None = None
    system_prompt: str | None = None
    messages: tuple[Message, ...] | None = None
    tool_result: ToolResult | None = None


@dataclass(frozen=True, slots=True)
class CancelRequested:
    at: float
    by: str = ""
    partial: ChatResponse | None = None


Event = Started | ModelResponded | ModelFailed | Interrupted | ToolsReturned | WokeUp | OperatorActed | CancelRequested
