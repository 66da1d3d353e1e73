"""The phrases of a verdict about a cut answer: what cut it, and how much of its cap it had used."""

from agentcore.cuts import BELOW, CAP, CEILING, TOTAL, UNRECORDED, cuts_of, last_cut
from agentcore.number_format import count, number, times
from agentcore.policy import LIMIT_NAMES, higher, limit_in_words
from agentcore.reasons import AttemptKind, NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.sufficient_max_tokens import continued_at_the_cap
from agentcore.truncation_cause import SHOWN, CapWords, used_of, where_cut

#: How a verdict begins where the last answer is truncated, and where a limit or a rule stopped the turn otherwise.
CUT_OFF, STOPPED = "Cut off", "Stopped"
NAME = LIMIT_NAMES[CAP]  #: where the key stands in the same sentence, or in the one before
#: The words for a cap whose key stands in the same sentence already.
NAMED = CapWords(NAME, f"with {NAME} not set")
#: What cut an answer whose request is not recorded.
NOT_RECORDED = "a token limit that is not recorded"
#: The name of what cut an answer, in a sentence.
_CUT_BY = {
    CAP: SHOWN.name,
    TOTAL: limit_in_words(TOTAL),
    CEILING: f"{limit_in_words(CEILING)} of the connection",
    UNRECORDED: NOT_RECORDED,
}


def broken_off(snapshot: Snapshot) -> tuple[str, str]:
    """What ended the answers that were continued, and how often: a resume follows a pause, a continuation a cut."""
    often = "" if snapshot.spent.continuations == 0 else f" {times(snapshot.spent.continuations + 1)}"
    kinds = {part.kind for answer in (*snapshot.earlier, snapshot.answer) for part in answer.segments}
    if snapshot.model_stop_reason == NormalizedStopReason.PAUSED:
        only = snapshot.cut_by[0] if len(set(snapshot.cut_by)) == 1 else BELOW
        by = "" if only == BELOW else f" by {_CUT_BY[only]}"
        cut = f"cut off{by} or " if AttemptKind.CONTINUATION in kinds else ""
        return STOPPED, f" after the answer was {cut}paused by the provider{often}"
    if is_eaten(snapshot):
        used = "" if bounded_cap(snapshot) else f" ({of_raised_call(snapshot)})"
        last = "the last time, " if len(cuts_of(snapshot)) > 1 else ""
        return CUT_OFF, f"{often}: {last}{by_reasoning(snapshot)}{used}"
    if AttemptKind.RESUME in kinds:
        paused = f"or paused by the provider{often}"
        return CUT_OFF, f" {paused}{_last_below(snapshot)}" if below_caps(snapshot) else f"{by_last(snapshot)} {paused}"
    return CUT_OFF, _in_order(snapshot)


def _in_order(snapshot: Snapshot) -> str:
    """` 3 times by Max tokens per call (max_tokens)`; of two causes ` twice by Max tokens per call (max_tokens), then
    by …`; of more, how often and the last one."""
    (first, often), *others = cuts_of(snapshot)
    if not others:
        if often == 1:
            return f" {where(snapshot)}" if first == BELOW else _told(snapshot, first)
        return f" {times(often)}{_last_below(snapshot) if first == BELOW else _told(snapshot, first)}"
    (last, again), *more = others
    if more:
        last, all_of = more[-1][0], sum(each for _, each in cuts_of(snapshot))
        end = f" {where(snapshot)}" if last == BELOW else _told(snapshot, last)
        return f" {times(all_of)}, the last time{end}"
    begun = f" below {SHOWN.name}" if first == BELOW else f" by {_CUT_BY[first]}"
    begun = begun if often == 1 else f" {times(often)}{begun}"
    then = f" {where(snapshot, NAMED)}" if last == BELOW else _told(snapshot, last)
    return f"{begun}, then{then}" if again == 1 or last != TOTAL else f"{begun}, then {times(again)}{then}"


def _told(snapshot: Snapshot, cause: str) -> str:
    """` by Max tokens per call (max_tokens)`; of a total, also what it left for the last call."""
    if cause == TOTAL and snapshot.call is not None:
        return f" by {_CUT_BY[TOTAL]}, which left {count(snapshot.call.max_tokens, 'token')} for the last call"
    return f" by {_CUT_BY[cause]}"


def _last_below(snapshot: Snapshot) -> str:
    """`, the last time at 10 of 60 tokens, below Max tokens per call (max_tokens)`, after how often."""
    return f",{' the last time' if tells_where(snapshot) else ''} {where(snapshot)}"


def is_eaten(snapshot: Snapshot) -> bool:
    """Whether reasoning is known to have used up the cap of the last answer."""
    return snapshot.eaten and last_cut(snapshot) != UNRECORDED


def by_last(snapshot: Snapshot) -> str:
    """` by Max tokens per call (max_tokens)`: what cut the last answer, which had no tokens left."""
    return f" by {_CUT_BY[last_cut(snapshot)]}"


def by_reasoning(snapshot: Snapshot) -> str:
    """`reasoning used up Max tokens per call (max_tokens) before any text came`."""
    cap = bounded_cap(snapshot)
    return f"reasoning used up {f'{cap},' if cap else SHOWN.name} before any text came"


def bounded_cap(snapshot: Snapshot) -> str:
    """`the 40 tokens that Max completion tokens per turn (max_total_completion_tokens) had left`: the cap of the last
    call, where another limit made it smaller; else empty."""
    cause = last_cut(snapshot)
    if cause not in (TOTAL, CEILING) or snapshot.call is None:
        return ""
    allowed = "had left" if cause == TOTAL else "allows"
    return f"the {count(snapshot.call.max_tokens, 'token')} that {_CUT_BY[cause]} {allowed}"


def higher_cap(snapshot: Snapshot) -> str:
    """`a higher Max tokens per call (max_tokens)`: the limit by which the last call would have been given more."""
    cause = last_cut(snapshot)
    return higher(cause if cause in (TOTAL, CEILING) else CAP)


def how_cut(snapshot: Snapshot) -> tuple[str, str]:
    """What cut the last answer, as the lead of a verdict and what follows it."""
    if last_cut(snapshot) == BELOW:
        return CUT_OFF, f" {where(snapshot)}"
    return CUT_OFF, f": {by_reasoning(snapshot)}" if is_eaten(snapshot) else by_last(snapshot)


def cut_call(snapshot: Snapshot) -> tuple[str, str]:
    """What became of a broken tool call, in the same parts. Only an answer that its provider calls truncated is cut
    off; in any other a call may be truncated as well."""
    if snapshot.model_stop_reason == NormalizedStopReason.MAX_TOKENS:
        below = last_cut(snapshot) == BELOW
        return CUT_OFF, f"{f' {where(snapshot)},' if below else by_last(snapshot)} in a tool call, which did not run"
    return STOPPED, f": a tool call was {snapshot.repairing or 'broken'} and did not run"


def below_caps(snapshot: Snapshot) -> bool:
    """Whether the last cut, and not it alone, was one below the cap."""
    alone = snapshot.spent.continuations > 0 and continued_at_the_cap(snapshot)
    return last_cut(snapshot) == BELOW and not alone


def where(snapshot: Snapshot, words: CapWords = SHOWN) -> str:
    """Where the last answer was cut, which its cap did not cut."""
    assert snapshot.response is not None, "a cut answer was answered"
    return where_cut(snapshot.response, snapshot.sent_cap, words)


def tells_where(snapshot: Snapshot) -> bool:
    """Whether `where` names a number of tokens."""
    used = snapshot.response.usage.output_tokens if snapshot.response and snapshot.response.usage else 0
    return snapshot.sent_cap is not None or bool(used)


def of_call(snapshot: Snapshot) -> str:
    """What of its cap the last answer used."""
    assert snapshot.response is not None, "a cut answer was answered"
    assert snapshot.call is not None, "a cut answer was called for"
    return used_of(snapshot.response, snapshot.known_cap)


def of_raised_call(snapshot: Snapshot) -> str:
    """The same, and where its cap is larger than the one that was set, that it was raised."""
    assert snapshot.call is not None, "a cut answer was called for"
    asked = snapshot.asked.max_tokens if snapshot.call.asked_cap is None else snapshot.call.asked_cap
    raised = f", where {NAME} was raised from {number(asked)}" if snapshot.call.max_tokens > asked else ""
    return f"{of_call(snapshot)}{raised}"


def about(snapshot: Snapshot) -> str:
    """“about ” before a number of tokens that is an estimate."""
    return "about " if snapshot.spent.estimated else ""


def completion_used(snapshot: Snapshot) -> str:
    """`60 of 240 completion tokens used`; of calls that were only observed, no total is known."""
    used, total = snapshot.spent.output_tokens, None if snapshot.observed else snapshot.completion_budget
    of = "" if total is None else f" of {number(total)}"
    return f"{about(snapshot)}{number(used)}{of} completion tokens used"


def used_in_words(snapshot: Snapshot) -> str:
    """The same as a sentence."""
    used = completion_used(snapshot)
    return f"{used[:1].upper()}{used[1:]}."
