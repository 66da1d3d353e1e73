"""Tool calls that max_tokens truncated and that were requested again, and the max_tokens that would have been enough.

The request again has a larger cap. What it brought is the only evidence of how long the call is, and it is no more than
likely: asked once, the model may write it differently.

Servers show a truncated call in several forms: marked as broken, as empty braces, as text, or not at all. What the turn
requested next tells them from other answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentcore import tool_call_markup
from agentcore.messages import CallIssue
from agentcore.reasons import AttemptKind, NormalizedStopReason
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
    if not (turn.tool_repairs or turn.continuations):
        return None
    made = attempts_read(turn.id, "kind", "max_tokens", "stop_reason", "text", "tool_calls", "usage", "error")
    requested = [*(each.kind for each in made[1:]), ""]
    answers = [(each, kind) for each, kind in zip(made, requested, strict=True) if each.error is None]
    brought = [*(each for each, _ in answers[1:]), None]
    found, cut, needed = list[Attempt](), list[Attempt](), list[int | None]()
    for (answer, kind), after in zip(answers, brought, strict=True):
        if _is_cut(answer, kind, after):
            cut.append(answer)
        elif cut:
            needed.append(_needed(cut, answer))
            found, cut = [*found, *cut], []
    if not found:
        return None
    enough = None if None in needed else max(each for each in needed if each is not None)
    spent = [_spent(each) for each in found]
    return RepairedCalls(len(found), max(spent), sum(spent), enough)


def _is_cut(answer: Attempt, requested: str, brought: Attempt | None) -> bool:
    """Whether an answer held a truncated call, by its own mark or by what was `requested` next, and what that
    `brought`."""
    if any(call.get("issue") == CallIssue.TRUNCATED for call in answer.tool_calls):
        return True
    if answer.stop_reason != NormalizedStopReason.MAX_TOKENS:
        return False
    return requested == AttemptKind.TOOL_REPAIR or (
        requested == AttemptKind.CONTINUATION and _shows_nothing(answer) and brought is not None and _is_call(brought)
    )


def _shows_nothing(answer: Attempt) -> bool:
    """Whether tokens went into something that is not shown: where no reasoning is counted, into a dropped call."""
    return not (answer.text or answer.tool_calls or _reasoning(answer))


def _is_call(answer: Attempt) -> bool:
    return bool(answer.tool_calls) and not answer.text


def _needed(cut: Sequence[Attempt], whole: Attempt) -> int | None:
    """The tokens of the whole call; where the truncated answer held anything else, those of both. None: not more than
    what was truncated."""
    first, tokens = cut[0], _tokens(whole)
    if tokens is None:
        return None
    alone = len(first.tool_calls) <= 1 and not _text_beside(first, whole) and not _reasoning(first)
    wanted = tokens if alone else tokens + _spent(first)
    return wanted if wanted > max(map(_spent, cut)) else None


def _text_beside(cut: Attempt, whole: Attempt) -> str:
    """The text of a truncated answer without the call that may be written in it."""
    text, names = cut.text or "", [call.get("name", "") for call in whole.tool_calls]
    if cut.tool_calls:
        return text
    begins = 0 if tool_call_markup.is_cut_bare_call(text, names) else tool_call_markup.left_open(text)
    return text[:begins].strip()


def _reasoning(answer: Attempt) -> int:
    counted: int | None = (answer.usage or {}).get("reasoning_tokens")
    return counted or 0


def _tokens(answer: Attempt) -> int | None:
    counted: int | None = (answer.usage or {}).get("output_tokens")
    return counted


def _spent(answer: Attempt) -> int:
    return _tokens(answer) or answer.max_tokens or 0
