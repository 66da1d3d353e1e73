"""How a turn ends, as far as a prediction tells it: values that are stored as JSON, and compared field by field."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from agentcore.events import Event, Interrupted, ModelFailed, ModelResponded, OperatorActed, OperatorAction
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty, WhatIf
from dashboard.platform.fields import storable_text
from dashboard.turns.models import Turn

#: What is compared. Output tokens are shown beside it: providers count them in their own ways.
COMPARED = ("status", "stop_reason", "terminal_reason", "attempts")
#: What an operator may do to a turn without changing how it ends.
HARMLESS = (OperatorAction.HOLD, OperatorAction.RELEASE, OperatorAction.STEP)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended, or would. `text_sha256`: of the whole answer; empty where nothing is said of it."""

    status: str
    stop_reason: str
    terminal_reason: str
    attempts: int
    output_tokens: int
    text_sha256: str = ""
    failures: int = 0  #: calls that failed

    @classmethod
    def of(cls, found: WhatIf, *, text: bool) -> "Ending | None":
        """That of a what-if; None where it stopped undecided. `text`: the answer is predicted too."""
        final = found.final
        if found.undecidable or final is None or final.end is None:
            return None
        end = final.end
        said = text and end.status is TurnStatus.COMPLETED
        return cls(
            end.status.value,
            end.stop_reason.value,
            end.terminal_reason,
            final.own.attempts,
            found.spent.output_tokens,
            sha256_of_text(end.output_text) if said else "",
            failures_of(record.event for record in found.records),
        )

    @classmethod
    def actual(cls, turn: Turn, events: Iterable[Event]) -> "Ending":
        """That of a turn which has ended."""
        return cls(
            turn.status,
            turn.stop_reason or "",
            turn.terminal_reason or "",
            turn.attempts,
            turn.output_tokens,
            sha256_of_text(turn.output_text),
            failures_of(events),
        )

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "Ending":
        return cls(**stored)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def differences(self, actual: "Ending") -> list[dict[str, Any]]:
        """What came otherwise than this ending says, field by field."""
        pairs = [(name, getattr(self, name), getattr(actual, name)) for name in COMPARED]
        found = [{"field": name, "predicted": one, "actual": other} for name, one, other in pairs if one != other]
        if self.text_sha256 and self.text_sha256 != actual.text_sha256:
            found.append({"field": "text", "predicted": self.text_sha256, "actual": actual.text_sha256})
        return found


def sha256_of_text(text: str) -> str:
    """Of a text as a turn's row keeps it."""
    return hashlib.sha256(storable_text(text).encode()).hexdigest()


def claims_text(certainty: Certainty) -> bool:
    """Whether a what-if of this certainty also says which text comes."""
    return certainty in (Certainty.RECORDED, Certainty.CERTAIN)


def failures_of(events: Iterable[Event]) -> int:
    return sum(isinstance(event, ModelFailed) for event in events)


def was_unanswered(events: Iterable[Event]) -> bool:
    """Whether every call failed, and none because the provider refused the request: such a turn tests no limits."""
    came = [event for event in events if isinstance(event, ModelResponded | ModelFailed)]
    return bool(came) and all(isinstance(event, ModelFailed) and _outage(event) for event in came)


def _outage(failed: ModelFailed) -> bool:
    error = failed.error
    return failed.partial is None and error.stop_reason is None and error.kind != "invalid_request"


def was_taken_over(events: Iterable[Event]) -> bool:
    """Whether a call or a tool was given again, because its worker was gone."""
    return any(isinstance(event, Interrupted) for event in events)


def was_changed(events: Iterable[Event]) -> bool:
    """Whether an operator changed something. A fork begins with the one who made it, who changes nothing."""
    acts = [event for event in events if isinstance(event, OperatorActed)]
    return any(_changes(act) for act in acts)


def _changes(act: OperatorActed) -> bool:
    given = (act.max_tokens, act.model, act.system_prompt, act.messages, act.tool_result, act.tool_call, act.answer)
    if any(value is not None for value in given) or act.limits or act.error_policy:
        return True
    return act.action not in (*HARMLESS, OperatorAction.CHANGE)
