"""One criterion's result on whether the agent continues, with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentcore.argument_validation import WrongInput, optional, required, shown
from agentcore.json_values import foreign
from agentcore.reasons import StopReason
from agentcore.values import quickly_made


class ContinuationDecision(StrEnum):
    """One criterion's result on whether the agent continues."""

    FORBID = "forbid"  #: the turn must not continue; outweighs all others
    ALLOW = "allow"  #: the turn may continue; it does, unless another result is STOP
    REQUEST = "request"  #: the turn should continue
    STOP = "stop"  #: AllowStop: the turn may end; it does, unless another result is REQUEST


_DEFAULT_REASON = {
    ContinuationDecision.FORBID: "{} forbade continuation",
    ContinuationDecision.REQUEST: "{} requested continuation",
    ContinuationDecision.ALLOW: "{} permits continuation",
    ContinuationDecision.STOP: "{} allows stop",
}

#: What a forbidding criterion means for the agent, where its evaluation does not say (spec: `inferStopReason`).
_INFERRED = (
    ("StepsLimit", StopReason.STEPS_LIMIT),
    ("TokenUsageLimit", StopReason.TOKEN_LIMIT),
    ("ExecutionTimeLimit", StopReason.TIME_LIMIT),
    ("ErrorPolicy", StopReason.ERROR),
    ("FinishReason", StopReason.FINISH_REASON),
)


@quickly_made
@dataclass(frozen=True, slots=True)
class ContinuationEvaluation:
    """One criterion's answer, with its reason in words.

    `stop_reason` is the agent's stop reason if this is a Forbid (None: inferred from the criterion's name). `message`
    is the message that a Request sends to the model.
    """

    criterion: str
    decision: ContinuationDecision  #: the answer
    reason: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)  #: the numbers it was judged by, as JSON types
    stop_reason: StopReason | None = None
    message: str | None = None
    #: Of a Forbid of the built-in criteria, the limit (or other cause) that bound. Rules before revision 5 do not store
    #: it in `context`, so it is stored nowhere else: judging the same event makes it again.
    bound: str | None = field(default=None, compare=False)

    @classmethod
    def from_decision(cls, criterion: str, decision: ContinuationDecision) -> "ContinuationEvaluation":
        """An evaluation with the default reason, for a criterion that gives none."""
        required(criterion, str, "criterion")
        if decision not in list(_DEFAULT_REASON):
            raise WrongInput(f"decision must be one of {', '.join(_DEFAULT_REASON)}, not {shown(decision)}.")
        return cls(criterion, decision, _DEFAULT_REASON[decision].format(criterion))

    @classmethod
    def by(
        cls,
        criterion: object,
        decision: ContinuationDecision,
        reason: str,
        stop: StopReason | None = None,
        /,
        **context: Any,
    ) -> "ContinuationEvaluation":
        """The evaluation of this criterion. `stop`: the stop reason of its Forbid; `context`: the numbers it was judged
        by."""
        return cls(type(criterion).__name__, decision, reason, context, stop, bound=context.get("bound"))

    def check(self) -> None:
        """Raise `WrongInput` where a part could not be stored with the turn."""
        if not (self.criterion.__class__ is self.reason.__class__ is str and self.stop_reason is self.message is None):
            required(self.criterion, str, "criterion")
            required(self.reason, str, "reason")
            optional(self.stop_reason, str, "stop_reason")
            optional(self.message, str, "message")
        if self.context.__class__ is not dict:
            required(self.context, Mapping, "context")
        if parts := foreign(self.context):
            raise WrongInput(f"context must be JSON, not one with {shown(parts[0])}.")

    def inferred_stop_reason(self) -> StopReason:
        """The agent's stop reason if this criterion forbids; `guard` if none is known."""
        named = (reason for part, reason in _INFERRED if part in self.criterion)
        return self.stop_reason or next(named, StopReason.GUARD)

    def to_dict(self) -> dict[str, Any]:
        """JSON types: criterion, decision, reason, context."""
        return {
            "criterion": self.criterion,
            "decision": self.decision.value,
            "reason": self.reason,
            "context": dict(self.context),
        }
