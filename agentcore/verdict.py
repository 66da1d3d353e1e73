"""The verdict: one sentence that says why a turn ended, and what of it is known to have helped.

It never claims more than the recording shows.
"""

from collections.abc import Callable, Mapping

from agentcore.commands import Finish
from agentcore.criteria.outcome import ContinuationDecision
from agentcore.criteria.retries import TruncationCriterion
from agentcore.cuts import used_of
from agentcore.machine.ending import INCOMPLETE
from agentcore.machine.snapshot import Snapshot
from agentcore.one_call import continued_at_the_cap, one_call_is_certain
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from agentcore.resource import IDLE, LIMIT_OF, REPEATED, characters_spent, no_retry_helps, resource_of
from agentcore.strict import required
from agentcore.wording import count, number, times


def verdict(snapshot: Snapshot) -> str:
    """The sentence for a turn that has ended; empty while it runs."""
    required(snapshot, Snapshot, "snapshot")
    end = snapshot.end
    if end is None:
        return ""
    return _SENTENCES.get(end.terminal_reason, _other)(snapshot, end)


def _about(snapshot: Snapshot) -> str:
    return "about " if snapshot.spent.estimated else ""


def _used(snapshot: Snapshot) -> str:
    budget = snapshot.completion_budget
    return f"{_about(snapshot)}{number(snapshot.spent.output_tokens)} of {number(budget)} completion tokens used"


def _completed(snapshot: Snapshot, end: Finish) -> str:
    if end.calls and snapshot.model_stop_reason == NormalizedStopReason.MAX_TOKENS:
        by = f"at {_of_call(snapshot)}, below max_tokens," if snapshot.cut_below_cap else "by max_tokens"
        return f"Ended in {count(snapshot.spent.attempts, 'call')}: cut off {by} after whole tool calls, handed out."
    told = _in_full(snapshot)
    return f"{told} The last call was cut, but its JSON was whole." if "whole_though_cut" in snapshot.flagged else told


def _in_full(snapshot: Snapshot) -> str:
    spent = snapshot.spent
    if spent.continuations:
        told = f"Completed after {count(spent.continuations, 'continuation')}."
        if not one_call_is_certain(snapshot):
            return told
        least, ceiling = f"max_tokens ≥ {number(spent.output_tokens)}", snapshot.asked.ceiling
        if ceiling is not None and ceiling < spent.output_tokens:
            return f"{told} One call would have needed {least}, above the connection's ceiling of {number(ceiling)}."
        return f"{told} With {least} it would have taken one call."
    if spent.envelope_retries:
        return f"Completed with a valid envelope after {count(spent.envelope_retries + 1, 'call')}."
    if spent.tool_repairs:
        return "Completed after a broken tool call was asked for again."
    if spent.total_failures:
        return f"Completed in {count(spent.attempts, 'call')}, after {count(spent.total_failures, 'error')} on the way."
    said = f" {_said(snapshot)}" if "unknown_reason" in snapshot.flagged else ""
    return f"Completed in {count(spent.attempts, 'call')}.{said}"


def _retry_limit(snapshot: Snapshot, _end: Finish) -> str:
    used, limit = snapshot.spent.continuations, snapshot.limits.max_continuations
    below = _below_caps(snapshot)
    last = f", {'the last time ' if used else ''}at {_of_call(snapshot)}, below max_tokens" if below else ""
    more = [count(limit + 1, "continuation")]
    if _completion_spent(snapshot):
        more.append("a larger token total")
    return (
        f"{_broken_off(snapshot)} {times(used + 1)}{last}, then stopped at max_continuations, "
        f"{number(used)} of {number(limit)}, with {_used(snapshot)}. "
        f"{_FULL if below and not snapshot.going_on_helped else _would(snapshot, *more)}"
    )


def _below_caps(snapshot: Snapshot) -> bool:
    """Whether the last cut, and not it alone, was one below the cap."""
    alone = snapshot.spent.continuations > 0 and continued_at_the_cap(snapshot)
    return snapshot.cut_below_cap and not alone


def _below_cap(snapshot: Snapshot, _end: Finish) -> str:
    """A cut that no number of ours explains, and so none is said to have helped against."""
    after = f" after {count(snapshot.spent.continuations, 'continuation')}" if snapshot.spent.continuations else ""
    return f"Cut off at {_of_call(snapshot)}{after}, below max_tokens. {_FULL}"


def _of_call(snapshot: Snapshot) -> str:
    """What of its cap the last answer used."""
    assert snapshot.response is not None, "a cut answer was answered"
    assert snapshot.call is not None, "a cut answer was called for"
    return used_of(snapshot.response, snapshot.call.max_tokens)


def _watched_cut(snapshot: Snapshot, _end: Finish) -> str:
    """Of a call that was only watched: its cap ran out, and no limit of a policy."""
    if snapshot.repairing:
        cut = "A tool call was truncated by max_tokens and did not run"
    else:
        by = "Reasoning used up max_tokens before any text came" if snapshot.eaten else "Cut off by max_tokens"
        counted = snapshot.response is not None and snapshot.response.usage is not None
        cut = f"{by}, with {_of_call(snapshot)} used" if counted else by
    return (
        f"{cut}; this call was only watched. How many more tokens it needed is not in this recording: re-run to know."
    )


def _watched_call(snapshot: Snapshot, _end: Finish) -> str:
    return f"A tool call was {snapshot.repairing or 'broken'} and did not run; this call was only watched."


def _broken_off(snapshot: Snapshot) -> str:
    """What ended the answers that were gone on with: a resume follows a pause, a continuation a cut."""
    if snapshot.eaten:
        return f"Reasoning used up max_tokens before any text came ({_of_call(snapshot)}); cut off"
    kinds = {part.kind for answer in (*snapshot.earlier, snapshot.answer) for part in answer.segments}
    last_paused = snapshot.model_stop_reason == NormalizedStopReason.PAUSED
    paused = last_paused or AttemptKind.RESUME in kinds
    cut = not last_paused or AttemptKind.CONTINUATION in kinds
    by = "cut off" if _below_caps(snapshot) else "cut off by max_tokens"
    if paused and cut:
        return f"Paused by the provider or {by}"
    return "Paused by the provider" if paused else by.capitalize()


def _completion_spent(snapshot: Snapshot) -> bool:
    return snapshot.completion_left < max(1, snapshot.asked.output_floor)


def _would(snapshot: Snapshot, *more: str) -> str:
    """What would have let the turn go on, as far as its own judgement says: other criteria may have forbidden too."""
    forbade, continuing = _forbade(snapshot), _judged_by_limits(snapshot)
    stubborn = [name for name in forbade if name not in LIMIT_OF]
    if continuing and snapshot.idle_answers >= IDLE:
        stubborn.append(REPEATED)
    if stubborn:
        return _sentence(f"{' and '.join(stubborn)} forbade going on too")
    chars = ["a larger max_total_output_chars"] if continuing and characters_spent(snapshot) else []
    wanted = dict.fromkeys((*more, *chars, *(f"a larger {LIMIT_OF[name]}" for name in forbade)))
    return f"With {' and '.join(wanted)} it would have gone on; how far is not in this recording: re-run to know."


def _judged_by_limits(snapshot: Snapshot) -> bool:
    """Whether the limits of a continuation settled it, of which only the first that bound was named."""
    return snapshot.outcome is None or snapshot.outcome.resolved_by == TruncationCriterion.__name__


def _forbade(snapshot: Snapshot) -> list[str]:
    """The criteria that forbade beside the one that resolved it."""
    if snapshot.outcome is None:
        return []
    forbade = (said.criterion for said in snapshot.outcome.evaluations if said.decision is ContinuationDecision.FORBID)
    return [name for name in forbade if name != snapshot.outcome.resolved_by]


def _budget(snapshot: Snapshot, _end: Finish) -> str:
    how = f"A tool call was {snapshot.repairing}" if snapshot.repairing else _how_cut(snapshot)
    total = snapshot.limits.max_total_tokens
    if total is not None and (snapshot.repairing or not _completion_spent(snapshot)):
        used = f"{_about(snapshot)}{number(snapshot.spent.total_tokens)} of {number(total)} tokens in and out used"
        return f"{how}, then stopped at max_total_tokens: {used}. {_would(snapshot, 'a larger max_total_tokens')}"
    return (
        f"{how}, then stopped because the token total was spent: {_used(snapshot)}. "
        f"{_would(snapshot, 'a larger token total')}"
    )


def _how_cut(snapshot: Snapshot) -> str:
    if snapshot.cut_below_cap:
        return f"Cut off at {_of_call(snapshot)}, below max_tokens"
    return "Reasoning used up max_tokens before any text came" if snapshot.eaten else "Cut off by max_tokens"


def _output_cap(snapshot: Snapshot, _end: Finish) -> str:
    cap = number(snapshot.limits.max_total_output_chars)
    return f"Stopped at max_total_output_chars: the answer was cut at {cap} characters."


def _repetition(snapshot: Snapshot, _end: Finish) -> str:
    if snapshot.eaten:
        return (
            f"Stopped because reasoning used up max_tokens in two answers running, the last time {_of_call(snapshot)}, "
            "and no text came. A larger max_tokens may help; it is not known."
        )
    if snapshot.cut_below_cap:
        return (
            f"Stopped because two cut answers running added nothing new; the last was cut at {_of_call(snapshot)}, "
            "below max_tokens. What would have helped is not known."
        )
    return "Stopped because two cut answers running added nothing new. A larger max_tokens may help; it is not known."


def _empty(_snapshot: Snapshot, _end: Finish) -> str:
    return "The model ended its turn without saying anything."


def _repair(snapshot: Snapshot, _end: Finish) -> str:
    repairs = snapshot.spent.tool_repairs
    tried = f"{count(repairs, 'repair')} did not make it whole" if repairs else "no repair of it is allowed"
    return f"A tool call was {snapshot.repairing or 'broken'} and did not run; {tried}."


def _forbidden(snapshot: Snapshot, end: Finish) -> str:
    by = snapshot.outcome.resolved_by if snapshot.outcome else "a criterion"
    told = (end.notice or end.error_message).removeprefix(INCOMPLETE)
    if by not in LIMIT_OF:
        return f"Stopped by {'the error policy' if by == 'ErrorPolicyCriterion' else by}: {told}"
    return f"Stopped at {LIMIT_OF[by]}: {told} {_would(snapshot, f'a larger {LIMIT_OF[by]}')}"


def _error(snapshot: Snapshot, end: Finish) -> str:
    failures = snapshot.spent.total_failures
    ran_out = f" after {count(failures, 'failed call')}" if failures else ""
    ran_out += _beside_retries(snapshot)
    if end.stop_reason is StopReason.RETRY_LIMIT and not no_retry_helps(snapshot):
        ran_out += f", with max_retries at {number(snapshot.error_policy.max_retries)}"
    kept = " What had arrived is kept." if snapshot.output_text else ""
    return f"Failed{ran_out}: {_closed(end.error_message or str(end.error_code))}{kept}"


def _beside_retries(snapshot: Snapshot) -> str:
    """The limit that left no other try, and how much of it was used."""
    outcome = snapshot.outcome
    if outcome is not None and resource_of(snapshot) == "max_total_completion_tokens":
        return f", with max_total_completion_tokens used up ({outcome.forbidding_reason()})"
    if outcome is None or outcome.resolved_by not in LIMIT_OF:
        return ""
    return f", with {LIMIT_OF[outcome.resolved_by]} used up ({outcome.forbidding_reason()})"


def _blocked(snapshot: Snapshot, _end: Finish) -> str:
    return f"Blocked by the provider. {_said(snapshot)} Raising limits cannot help."


def _context(_snapshot: Snapshot, _end: Finish) -> str:
    return "The conversation no longer fits the model's context window. Raising max_tokens cannot help."


def _cancelled(snapshot: Snapshot, end: Finish) -> str:
    return f"{end.notice} {_sentence(_used(snapshot))}"


def _unknown(snapshot: Snapshot, _end: Finish) -> str:
    kept = "what had arrived is kept" if snapshot.output_text else "there is no usable text"
    return f"The provider ended the answer with “{snapshot.raw_stop_reason}”, which is no end we know; {kept}."


def _interrupted(snapshot: Snapshot, end: Finish) -> str:
    return f"Interrupted: {end.error_message or 'the turn was lost and cannot go on.'} {_sentence(_used(snapshot))}"


def _other(snapshot: Snapshot, end: Finish) -> str:
    if end.status is TurnStatus.FAILED:
        calls = count(snapshot.spent.envelope_retries + 1, "call")
        return f"No valid envelope after {calls}: {end.error_message.removeprefix('No valid envelope: ')}"
    return f"Ended by {end.terminal_reason}."


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _closed(sentence: str) -> str:
    """A provider's own words, ended as a sentence is."""
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _said(snapshot: Snapshot) -> str:
    word = snapshot.raw_stop_reason
    return f"The provider said “{word}”." if word else "The provider gave no stop reason."


#: What is known of a cut below the cap. No number of ours is said to have helped against it.
_FULL = (
    "The context window was full, or the server has a limit of its own. "
    "What would have helped is not in this recording."
)
_SENTENCES: Mapping[str, Callable[[Snapshot, Finish], str]] = {
    "completed": _completed,
    "retry_limit": _retry_limit,
    "budget_exhausted": _budget,
    "output_cap": _output_cap,
    "max_tokens": _watched_cut,
    "cut_below_cap": _below_cap,
    "broken_tool_call": _watched_call,
    "repetition": _repetition,
    "empty_output": _empty,
    "tool_repair_failed": _repair,
    "forbidden": _forbidden,
    "provider_error": _error,
    "safety_blocked": _blocked,
    "context_window_exceeded": _context,
    "cancelled": _cancelled,
    "unknown_fatal": _unknown,
    "interrupted": _interrupted,
}
