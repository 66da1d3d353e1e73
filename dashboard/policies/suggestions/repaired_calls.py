"""Tool calls that max_tokens truncated and that were requested again, and the max_tokens that would have been enough.

The request again has a larger cap. What it brought is the only evidence of how long the call is, and it is no more than
likely: asked once, the model may write it differently.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentcore.messages import CallIssue
from dashboard.turns.history import attempts_read
from dashboard.turns.models import Attempt, Turn


@dataclass(frozen=True, slots=True)
class RepairedCalls:
    """`cut`: answers with a truncated call; `spent`: output tokens of the longest of them, `wasted` of all.

    `enough`: output tokens within which each call is likely to be complete at once; None: the recording does not show
    it.
    """

    cut: int
    spent: int
    wasted: int
    enough: int | None


def repaired_calls(turn: Turn) -> RepairedCalls | None:
    """None without any; a call that was malformed, but not truncated, needs no more tokens."""
    if not turn.tool_repairs:
        return None
    columns = ("max_tokens", "text", "tool_calls", "usage", "error")
    answers = [each for each in attempts_read(turn.id, *columns) if each.error is None]
    found, cut, needed = list[Attempt](), list[Attempt](), list[int | None]()
    for answer in answers:
        if _is_cut(answer):
            cut.append(answer)
        elif cut:
            needed.append(_needed(cut, answer))
            found, cut = [*found, *cut], []
    if not found:
        return None
    enough = None if None in needed else max(each for each in needed if each is not None)
    spent = [_spent(each) for each in found]
    return RepairedCalls(len(found), max(spent), sum(spent), enough)


def _is_cut(answer: Attempt) -> bool:
    return any(call.get("issue") == CallIssue.TRUNCATED for call in answer.tool_calls)


def _needed(cut: Sequence[Attempt], whole: Attempt) -> int | None:
    """The tokens of the whole call; where the truncated answer held anything else, those of both. None: not more than
    what was truncated."""
    first, tokens = cut[0], _tokens(whole)
    if tokens is None:
        return None
    alone = len(first.tool_calls) == 1 and not first.text and not (first.usage or {}).get("reasoning_tokens")
    wanted = tokens if alone else tokens + _spent(first)
    return wanted if wanted > max(map(_spent, cut)) else None


def _tokens(answer: Attempt) -> int | None:
    counted: int | None = (answer.usage or {}).get("output_tokens")
    return counted


def _spent(answer: Attempt) -> int:
    return _tokens(answer) or answer.max_tokens or 0
