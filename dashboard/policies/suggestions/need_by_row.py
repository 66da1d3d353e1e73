"""Whether a turn may need a limit, by its row alone: lists ask it of every turn, and read the history of few."""

from agentcore.reasons import NormalizedStopReason, TurnStatus
from dashboard.turns.end_summary import cut_sign
from dashboard.turns.models import Turn


def may_need_a_limit(turn: Turn) -> bool:
    """By its row: it was continued, repaired or retried, shows a sign of a cut, or ended early without a refusal."""
    if turn.status == TurnStatus.COMPLETED:
        return turn.continuations > 0 or turn.envelope_retries > 0 or turn.tool_repairs > 0 or bool(cut_sign(turn))
    if turn.status == TurnStatus.CANCELLED:  # perhaps because nobody approved its call in time
        return turn.model_stop_reason == NormalizedStopReason.TOOL_CALL
    ended_short = turn.status in (TurnStatus.PARTIAL, TurnStatus.FAILED, TurnStatus.ABORTED)
    return ended_short and turn.terminal_reason != NormalizedStopReason.SAFETY_BLOCKED
