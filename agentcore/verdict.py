"""The verdict: one sentence that says why a turn ended, and what of it is known to have helped.

It never claims more than the recording shows.
"""

from collections.abc import Callable, Mapping

from agentcore.commands import Finish
from agentcore.machine.ending import INCOMPLETE
from agentcore.machine.snapshot import Snapshot
from agentcore.reasons import AttemptKind, NormalizedStopReason, TurnStatus


def verdict(snapshot: Snapshot) -> str:
    """The sentence for a turn that has ended; empty while it runs."""
    end = snapshot.end
    if end is None:
        return ""
    return _SENTENCES.get(end.terminal_reason, _other)(snapshot, end)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _used(snapshot: Snapshot) -> str:
    about = "about " if snapshot.spent.estimated else ""
    budget = snapshot.completion_budget
    return f"{about}{snapshot.spent.output_tokens} of {budget} completion tokens used"


def _completed(snapshot: Snapshot, _end: Finish) -> str:
    spent = snapshot.spent
    if spent.continuations:
        told = f"Completed after {_count(spent.continuations, 'continuation')}."
        if snapshot.iteration > 1 or AttemptKind.RESUME in (segment.kind for segment in snapshot.answer.segments):
            return told  # which call would have needed how much does not follow from a sum
        return f"{told} With max_tokens of about {spent.output_tokens} it would have taken one call."
    if spent.envelope_retries:
        return f"Completed with a valid envelope after {_count(spent.envelope_retries + 1, 'call')}."
    if spent.tool_repairs:
        return "Completed after a broken tool call was asked for again."
    if spent.total_failures:
        return (
            f"Completed in {_count(spent.attempts, 'call')}, after {_count(spent.total_failures, 'error')} on the way."
        )
    said = f" {_said(snapshot)}" if "unknown_reason" in snapshot.flagged else ""
    return f"Completed in {_count(spent.attempts, 'call')}.{said}"


def _retry_limit(snapshot: Snapshot, _end: Finish) -> str:
    limit = snapshot.limits.max_continuations
    times = _count(snapshot.spent.continuations + 1, "time")
    spent_too = snapshot.completion_left < max(1, snapshot.asked.output_floor)
    more = "more continuations and a larger token total" if spent_too else "more continuations"
    paused = snapshot.model_stop_reason == NormalizedStopReason.PAUSED
    how = "Paused by the provider" if paused else "Cut off by max_tokens"
    return (
        f"{how} {times}, then stopped at max_continuations, {snapshot.spent.continuations} of {limit}, "
        f"with {_used(snapshot)}. With {more} it would have gone on; how far is not in this recording: re-run to know."
    )


def _budget(snapshot: Snapshot, _end: Finish) -> str:
    return (
        f"Cut off by max_tokens, then stopped because the token total was spent: {_used(snapshot)}. "
        "With a larger total it would have gone on; how far is not in this recording."
    )


def _output_cap(snapshot: Snapshot, _end: Finish) -> str:
    cap = snapshot.limits.max_total_output_chars
    return f"Stopped at max_total_output_chars: the answer was cut at {cap} characters."


def _repetition(_snapshot: Snapshot, _end: Finish) -> str:
    return "Stopped because two cut answers running added nothing new. A larger max_tokens may help; it is not known."


def _empty(_snapshot: Snapshot, _end: Finish) -> str:
    return "The model ended its turn without saying anything."


def _repair(snapshot: Snapshot, _end: Finish) -> str:
    return (
        f"A tool call was {snapshot.repairing or 'broken'} and did not run; "
        f"{_count(snapshot.spent.tool_repairs, 'repair')} did not make it whole."
    )


def _forbidden(snapshot: Snapshot, end: Finish) -> str:
    by = snapshot.outcome.resolved_by if snapshot.outcome else "a criterion"
    return f"Stopped by {by}: {(end.notice or end.error_message).removeprefix(INCOMPLETE)}"


def _error(snapshot: Snapshot, end: Finish) -> str:
    ran_out = f" after {_count(snapshot.spent.total_failures, 'failed call')}" if snapshot.spent.total_failures else ""
    kept = " What had arrived is kept." if snapshot.output_text else ""
    return f"Failed{ran_out}: {_closed(end.error_message or str(end.error_code))}{kept}"


def _blocked(snapshot: Snapshot, _end: Finish) -> str:
    return f"Blocked by the provider. {_said(snapshot)} Raising limits cannot help."


def _context(_snapshot: Snapshot, _end: Finish) -> str:
    return "The conversation no longer fits the model's context window. Raising max_tokens cannot help."


def _cancelled(snapshot: Snapshot, end: Finish) -> str:
    return f"{end.notice} {_sentence(_used(snapshot))}"


def _unknown(snapshot: Snapshot, _end: Finish) -> str:
    return (
        f"The provider ended the answer with “{snapshot.raw_stop_reason}”, a word we do not know, and no usable text."
    )


def _interrupted(snapshot: Snapshot, end: Finish) -> str:
    return f"Interrupted: {end.error_message or 'the turn was lost and cannot go on.'} {_sentence(_used(snapshot))}"


def _other(snapshot: Snapshot, end: Finish) -> str:
    if end.status is TurnStatus.FAILED:
        return f"No valid envelope after {_count(snapshot.spent.envelope_retries + 1, 'call')}: {end.error_message}"
    return f"Ended by {end.terminal_reason}."


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _closed(sentence: str) -> str:
    """A provider's own words, ended as a sentence is."""
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _said(snapshot: Snapshot) -> str:
    word = snapshot.raw_stop_reason
    return f"The provider said “{word}”." if word else "The provider gave no stop reason."


_SENTENCES: Mapping[str, Callable[[Snapshot, Finish], str]] = {
    "completed": _completed,
    "retry_limit": _retry_limit,
    "budget_exhausted": _budget,
    "output_cap": _output_cap,
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
