"""Criteria as an operator would write them, for tests that list this module in WHYSTOP_CRITERIA."""

from pathlib import Path
from typing import Any

from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.reasons import StopReason
from agentcore.snapshot import Snapshot

__all__ = ["OneMore", "Path", "Patience", "Silent", "Unstorable", "Veto", "not_a_class"]

NAME = __name__


class OneMore:
    """Asks for another answer after the first, in these words."""

    def __init__(self, message: str) -> None:
        self.message = message

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        if state.calls or state.iteration > 1:
            return ContinuationEvaluation("OneMore", ContinuationDecision.ALLOW, "one more has been asked for")
        return ContinuationEvaluation(
            "OneMore",
            ContinuationDecision.REQUEST,
            "one answer is not enough",
            {"iteration": state.iteration},
            message=self.message,
        )


class Patience:
    """Forbids what comes after so many calls of the model."""

    def __init__(self, calls: int = 1) -> None:
        if calls < 1:
            raise ValueError("calls must be at least 1")
        self.calls = calls

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        used = state.spent.attempts
        decision = ContinuationDecision.FORBID if used >= self.calls else ContinuationDecision.ALLOW
        context = {"used": used, "limit": self.calls}
        return ContinuationEvaluation(
            "Patience", decision, f"{used} of {self.calls} calls", context, StopReason.STEPS_LIMIT
        )


class Veto:
    def decide(self, state: Snapshot) -> ContinuationDecision:
        return ContinuationDecision.FORBID


class Unstorable:
    """Answers with something JSON cannot hold."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def explain(self, state: Snapshot) -> Any:
        allow = ContinuationDecision.ALLOW
        said: dict[str, Any] = {
            "object": ContinuationEvaluation("Unstorable", allow, "fine", {"state": object()}),
            "nan": ContinuationEvaluation("Unstorable", allow, "fine", {"ratio": float("nan")}),
            "context": ContinuationEvaluation("Unstorable", allow, "fine", ["a", "list"]),  # type: ignore[arg-type]
            "name": ContinuationEvaluation(7, ContinuationDecision.FORBID, "fine"),  # type: ignore[arg-type]
            "reason": ContinuationEvaluation("Unstorable", allow, None),  # type: ignore[arg-type]
            "stop_reason": ContinuationEvaluation("Unstorable", allow, "fine", stop_reason="tired"),  # type: ignore[arg-type]
            "nothing": None,
            "word": "allow",
        }
        return said[self.kind]


class Silent:
    """No criterion: it answers nothing."""


def not_a_class() -> Veto:
    return Veto()
