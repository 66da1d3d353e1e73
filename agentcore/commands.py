"""Commands: what the machine requests from its driver, its only output."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.messages import ChatRequest, ChatResponse, ToolCall
from agentcore.reasons import AttemptKind, StopReason, TurnStatus
from agentcore.values import quickly_made, settle


@quickly_made
@dataclass(frozen=True, slots=True)
class CallModel:
    """Call the model; answer with ModelResponded or ModelFailed. `attempt` counts from 1.

    If `seconds_left` is set, the call ends with a timeout error after that many seconds. If `answer` is set, the model
    is not called: the driver returns this answer, and ends a call in flight.
    """

    kind: AttemptKind  #: why the model is called
    attempt: int
    request: ChatRequest  #: for the dialect's codec
    seconds_left: float | None = None
    answer: ChatResponse | None = None  #: an operator's answer, in place of the model's


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run these calls, all of which are complete and valid; answer with ToolsReturned."""

    calls: tuple[ToolCall, ...]
    seconds_left: float | None = None  #: of max_seconds; None: no limit


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait this many seconds, then answer with WokeUp."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Do nothing until an operator acts, or until the `deadline`; then perform `Approvals.otherwise`."""

    deadline: float | None = None  #: seconds since the turn started; None: no time limit


@dataclass(frozen=True, slots=True)
class StopSentence:
    """The sentence of a stop, around the reason of the criterion that forbade continuing."""

    lead: str = ""  #: how the stored text begins
    before: str = ""  #: what happened, up to the reason
    after: str = ""  #: what happened, after the reason
    ending: str = ""  #: how the stored text ends
    criterion: str = (
        ""  #: the class of the criterion that `before` is about; its name begins the phrase of what happened
    )

    def happened(self, reason: str) -> str:
        """What happened, as a phrase."""
        return f"{self.criterion}{self.before}{reason}{self.after}"

    def whole(self, reason: str) -> str:
        """The text as it is stored, with this reason."""
        return f"{self.lead}{self.happened(reason)}{self.ending}"


@quickly_made
@dataclass(frozen=True, slots=True)
class Finish:
    """The turn has ended. `notice`, which is separate from the answer, says what is missing from the answer."""

    status: TurnStatus  #: as the turn is filed
    stop_reason: StopReason  #: why the agent stopped
    terminal_reason: str  #: more specific, such as budget_exhausted
    output_text: str = ""  #: the merged answer, possibly incomplete
    notice: str = ""
    error_code: str | None = None  #: such as envelope_refusal
    error_message: str = ""  #: in words, without the model's or the user's content
    envelope: Any = None  #: the accepted value of an envelope turn
    calls: tuple[ToolCall, ...] = ()  #: complete calls, for the client to run (`Setup.client_tools`)
    #: The parts of `notice` or `error_message`, if a criterion stopped the turn. They are not stored: folding the
    #: history builds them again.
    sentence: StopSentence | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.calls.__class__ is not tuple:
            settle(self, calls=tuple)


#: Any command for the driver. Each event results in exactly one.
Command = CallModel | RunTools | Wait | Hold | Finish


@quickly_made
@dataclass(frozen=True, slots=True)
class Observation:
    """One structured fact for operators and metrics (design §3.8)."""

    type: str  #: such as stop_reason_observed
    fields: Mapping[str, Any]  #: as its spec names them, JSON types
