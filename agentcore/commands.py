"""What the machine asks of the outside, imperative: its only output."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.messages import ChatRequest, ToolCall
from agentcore.reasons import AttemptKind, StopReason, TurnStatus


@dataclass(frozen=True, slots=True)
class CallModel:
    """Call the model; answer with ModelResponded or ModelFailed. `attempt` counts from 1.

    The call ends with a timeout error after `seconds_left` seconds, where that is set.
    """

    kind: AttemptKind
    attempt: int
    request: ChatRequest
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run these calls, all of them whole and valid; answer with ToolsReturned."""

    calls: tuple[ToolCall, ...]
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait this many seconds, then answer with WokeUp."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Do nothing until an operator acts."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn has ended. `notice` says apart from the answer what is missing from it."""

    status: TurnStatus
    stop_reason: StopReason
    terminal_reason: str
    output_text: str = ""
    notice: str = ""
    error_code: str | None = None
    error_message: str = ""
    envelope: Any = None


Command = CallModel | RunTools | Wait | Hold | Finish


@dataclass(frozen=True, slots=True)
class Observation:
    """One structured fact for operators and metrics (design §3.8)."""

    type: str
    fields: Mapping[str, Any]
