"""What one answer adds: tokens, characters, time, and its text merged into the answer of its iteration."""

from functools import cache
from typing import Any

from agentcore.continuation_merge import MIN_OVERLAP, Joining, Merge, Rule, cut, join_broken_off, seam
from agentcore.machine.answer_classification import response_error
from agentcore.messages import ChatResponse
from agentcore.policy import Policy
from agentcore.prefill import ECHO, TRIMMING, goes_on_exactly
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Answer, Segment, Spent
from agentcore.states import State
from agentcore.usage import counts_unreported, may_hide_reasoning, reasoning_of, was_generated
from agentcore.values import changed, copier, replace

_REPAIR = State.REQUEST_TOOL_REPAIR  # Python 3.11 takes long to find a member in its enumeration
_counting = copier(Spent, "seconds", "input_tokens", "output_tokens", "estimated")
_with_output_chars = copier(Spent, "output_chars")


def count_attempt(
    snapshot: Snapshot, response: ChatResponse | None, /, *, seconds: float = 0.0, **also: Any
) -> Snapshot:
    """Add an ended attempt's tokens and seconds, in one copy with what else it changes."""
    return replace(snapshot, **counted(snapshot, response, seconds), **also)


def counted(snapshot: Snapshot, response: ChatResponse | None, seconds: float) -> dict[str, Any]:
    """What an ended attempt's tokens and seconds change.

    Where usage is missing, tokens are estimated and marked so (design §3.3).
    """
    spent, usage = snapshot.spent, response.usage if response is not None else None
    if response is None:
        return {"spent": replace(spent, seconds=spent.seconds + seconds)}
    output = usage.output_tokens if usage else _estimated_output(response, snapshot.sent_cap)
    spent = _counting(
        spent,
        spent.seconds + seconds,
        spent.input_tokens + (usage.input_tokens if usage else 0),
        spent.output_tokens + output,
        spent.estimated or (usage is None and output > 0),
    )
    reason, raw = response.stop_reason._value_, response.raw_stop_reason
    cap, window = snapshot.sent_cap, snapshot.asked.context_window
    hides = snapshot.veiled or may_hide_reasoning(response, cap) or counts_unreported(response, cap, window)
    cut = response.stop_reason is NormalizedStopReason.MAX_TOKENS
    reasoned = snapshot.reasoned or (cut and reasoning_of(response, cap, cut=True) > 0)
    return {
        "spent": spent,
        "veiled": hides or None,
        "reasoned": reasoned or None,
        "model_stop_reason": reason,
        "raw_stop_reason": raw,
    }


def _estimated_output(response: ChatResponse, cap: int | None) -> int:
    if response.stop_reason is NormalizedStopReason.MAX_TOKENS and cap is not None:
        return cap
    calls = (*response.tool_calls, *response.broken_tool_calls)
    characters = len(response.text) + len(response.reasoning_content) + sum(len(tool.raw) for tool in calls)
    return -(-characters // 4)


def add_text(snapshot: Snapshot, response: ChatResponse, policy: Policy, *, joined: Merge | None = None) -> Snapshot:
    """Merge an attempt's text into the answer. `joined`: how, where that is known."""
    added = text_added(snapshot, response, policy, joined=joined)
    return changed(snapshot, added) if added else snapshot


def text_added(
    snapshot: Snapshot, response: ChatResponse, policy: Policy, *, joined: Merge | None = None
) -> dict[str, Any]:
    """What an attempt's text changes: it is merged into the answer, up to the character cap, and the segment keeps what
    came from where."""
    text = response.text
    if not text:
        return {}
    call, answer, overlap, ambiguous = snapshot.current_call, snapshot.answer, 0, 0
    if joined is not None:
        overlap, ambiguous = joined.overlap, joined.ambiguous
    elif call.hint is not None:
        overlap, ambiguous = seam(answer.text, text, joining(snapshot, policy.min_overlap, response))
    spent, start = snapshot.spent, len(answer.text)
    room = snapshot.limits.max_total_output_chars - spent.output_chars
    rest = text[overlap:]
    added = rest if len(rest) <= room else cut(rest, max(0, room))
    doubtful = min(ambiguous, len(added)) if ambiguous else 0
    segment = Segment(spent.attempts, call.kind, start, start + len(added), overlap, doubtful)
    return {
        "answer": Answer(answer.text + added, (*answer.segments, segment)),
        "spent": _with_output_chars(spent, spent.output_chars + len(added)),
        "cut_at_cap": snapshot.cut_at_cap or len(added) < len(rest),
        "flagged": _flagged(snapshot) if doubtful else snapshot.flagged,
    }


def _flagged(snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*snapshot.flagged, "ambiguous_seam")))


def joining(snapshot: Snapshot, min_overlap: int = MIN_OVERLAP, response: ChatResponse | None = None) -> Joining:
    """How the continuation that is pending, or has come as `response`, was asked for. A repair is asked for in words,
    always."""
    if not snapshot.revision:
        return Joining(min_overlap, prefilled(snapshot), rule=Rule.DROPS)
    repairing = snapshot.call is not None and snapshot.call.state is _REPAIR
    rule, asked = rule_of(snapshot.revision), snapshot.asked
    if repairing or not goes_on_exactly(asked.provider, asked.model, asked.extra):
        return Joining(min_overlap, anew=repairing and rule >= Rule.TELLS_APART, rule=rule, said=_said(snapshot))
    return Joining(
        min_overlap,
        prefilled(snapshot),
        exact=True,
        echo=bool(asked.extra.get(ECHO)),
        rule=rule,
        said=_said(snapshot),
        generated=snapshot.revision >= 6 and response is not None and was_generated(response),
    )


def _said(snapshot: Snapshot) -> int:
    """The length of the last answer that brought any text. One that comes again letter for letter is a repeat."""
    for part in reversed(snapshot.answer.segments):
        if part.end > part.start:
            return part.dropped + part.end - part.start
    return 0


@cache
def rule_of(revision: int | None) -> Rule:
    """How the seams of a turn are judged, by its policy's revision."""
    return Rule.BROKEN_OFF if (revision or 0) >= 8 else Rule(max(0, min(revision or 0, Rule.GOES_ON)))


def keep_partial(
    snapshot: Snapshot,
    partial: ChatResponse | None,
    policy: Policy,
    *,
    repeats_from: int | None = None,
    asked_again: bool = False,
) -> Snapshot:
    """The text of an answer that was broken off. In envelope turns and repairs it stays on the attempt only.

    Where the rest is asked for again, `repeats_from` so many characters it may be a repetition that never got to
    anything new, and is dropped: the end of one repetition is no place to go on from. `asked_again`: it surely is.
    """
    repairing = snapshot.call is not None and snapshot.call.state is _REPAIR
    if partial is None or snapshot.asked.envelope_schema is not None or repairing:
        return snapshot
    if _blocked(partial):
        return snapshot
    joined = None
    if policy.drop_repetitions and repeats_from is not None and len(partial.text) >= repeats_from:
        how = joining(snapshot, policy.min_overlap)
        joined = join_broken_off(snapshot.answer.text, partial.text, how, asked_again=asked_again)
    return add_text(snapshot, partial, policy, joined=joined)


def keep_unjudged(snapshot: Snapshot, policy: Policy) -> Snapshot:
    """The text of an answer that arrived, and was held before anything judged it."""
    response = snapshot.response
    assert response is not None, "held at evaluate_stop with the answer to judge"
    whole = response_error(response) is None and snapshot.asked.envelope_schema is None
    if whole and not _blocked(response):
        return add_text(snapshot, response, policy)
    return keep_partial(snapshot, response, policy)


def _blocked(response: ChatResponse) -> bool:
    """Whether the answer, or an error inside it, is a refusal: its text is withheld."""
    error = response.error.stop_reason if response.error else None
    return NormalizedStopReason.SAFETY_BLOCKED in (response.stop_reason, error)


def prefilled(snapshot: Snapshot) -> bool:
    """Whether a continuation goes on from text that lost its trailing whitespace on the way (design §3.10)."""
    return bool(snapshot.asked.extra.get("prefill")) and snapshot.asked.provider in TRIMMING


def give_back(snapshot: Snapshot) -> Snapshot:
    """Where an operator has raised the character cap since, what the last answer was cut by at the old one."""
    if not snapshot.cut_at_cap:
        return snapshot
    response, spent = snapshot.response, snapshot.spent
    room = snapshot.limits.max_total_output_chars - spent.output_chars
    last = snapshot.answer.segments[-1] if snapshot.answer.segments else None
    if room <= 0 or response is None or last is None or last.attempt != spent.attempts:
        return snapshot
    rest = response.text[last.dropped + last.end - last.start :]
    added = cut(rest, room)
    segments = (*snapshot.answer.segments[:-1], replace(last, end=last.end + len(added)))
    return replace(
        snapshot,
        answer=Answer(snapshot.answer.text + added, segments),
        spent=replace(spent, output_chars=spent.output_chars + len(added)),
        cut_at_cap=len(added) < len(rest),
    )


def seconds_since(snapshot: Snapshot, at: float, waited: float | None = None) -> float:
    """Time in the model or in tools since the command was given, without what the call `waited` in line."""
    seconds = at - snapshot.at - (waited or 0.0)
    return seconds if seconds > 0 else 0.0


def spend_seconds(snapshot: Snapshot, at: float, waited: float | None = None) -> Snapshot:
    """Count the time since the command was given."""
    seconds = snapshot.spent.seconds + seconds_since(snapshot, at, waited)
    return replace(snapshot, spent=replace(snapshot.spent, seconds=seconds))


def count_failure(snapshot: Snapshot) -> Snapshot:
    """One more failure running, of the iteration and of the turn."""
    spent = replace(
        snapshot.spent,
        consecutive_failures=snapshot.spent.consecutive_failures + 1,
        total_failures=snapshot.spent.total_failures + 1,
    )
    return replace(snapshot, spent=spent, iteration_failures=snapshot.iteration_failures + 1)
