"""Named questions about continuing, and what their answers add up to."""

from agentcore.criteria.outcome import (
    ContinuationCriteria,
    ContinuationDecision,
    ContinuationEvaluation,
    ContinuationOutcome,
    Criterion,
)

__all__ = [
    "ContinuationCriteria",
    "ContinuationDecision",
    "ContinuationEvaluation",
    "ContinuationOutcome",
    "Criterion",
]
