"""The parts of a verdict; and the verdict of a completed turn: in how many calls it completed, and which cap would have
made it one."""

from dataclasses import dataclass

from agentcore.commands import Finish
from agentcore.lint import CODES
from agentcore.number_format import count, number
from agentcore.policy import limit_in_words
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.sufficient_max_tokens import enough_for_one_call
from agentcore.truncation_cause import SHOWN
from agentcore.truncation_text import by_last, where
from agentcore.values import replace


@dataclass(frozen=True, slots=True)
class Verdict:
    """`lead` and `rest` together say what happened. `lead` is the part that pages highlight, and may be empty. `helps`
    says what would have helped, according to the recording; it may be empty."""

    lead: str
    rest: str
    helps: str = ""
    rerun: bool = False  #: only a live re-run can tell more

    @property
    def happened(self) -> str:
        """What happened, without the remedy."""
        return f"{self.lead}{self.rest}"

    def __str__(self) -> str:
        return f"{self.happened} {self.helps}".rstrip()


def completed(snapshot: Snapshot, end: Finish) -> Verdict:
    """The verdict of a completed turn: after one call, after several calls, or with tool calls for the caller."""
    if end.calls and snapshot.model_stop_reason == NormalizedStopReason.MAX_TOKENS:
        by = f" {where(snapshot)}," if snapshot.cut_below_cap else by_last(snapshot)
        calls = count(snapshot.spent.attempts, "call")
        cut = f"the last answer was cut off{by} after complete tool calls, which were returned"
        return Verdict("Completed", f" in {calls}; {cut}.")
    told = _in_full(snapshot)
    told = replace(told, rest=f"{told.rest}{_unsure(snapshot)}")
    whole = " The last call was cut off, but its JSON was complete."
    return replace(told, helps=f"{told.helps}{whole}".strip()) if "whole_though_cut" in snapshot.flagged else told


def _in_full(snapshot: Snapshot) -> Verdict:
    spent = snapshot.spent
    if spent.continuations:
        return Verdict("Completed", f" {_continued(snapshot)}.", _one_call(snapshot))
    if spent.envelope_retries:
        return Verdict("Completed", f" with a valid envelope after {count(spent.envelope_retries + 1, 'call')}.")
    if spent.tool_repairs:
        return Verdict("Completed", " after a broken tool call was requested again.")
    calls = count(spent.attempts, "call")
    if spent.total_failures:
        return Verdict("Completed", f" in {calls}, after {count(spent.total_failures, 'error')}.")
    return Verdict("Completed", f" in {calls}.")


def _unsure(snapshot: Snapshot) -> str:
    """That the answer may be cut: it counts as an end, but there is a sign of truncation, or its provider did not say
    an end that is known."""
    structured = snapshot.setup is not None and snapshot.setup.envelope_schema is not None  # it fits, so it is whole
    if sign := snapshot.cut_sign:
        return f" The answer may be cut off: {_lower(CODES[sign])}."
    if snapshot.model_stop_reason != NormalizedStopReason.UNKNOWN or structured:
        return ""
    word = snapshot.raw_stop_reason
    # A log may lack a reason that its provider gave.
    said = f"The provider said “{word}”, which is not a known stop reason" if word else "No stop reason is recorded"
    return f" {said}, so the answer may be cut off."


def _lower(words: str) -> str:
    return f"{words[0].lower()}{words[1:]}"


def _one_call(snapshot: Snapshot) -> str:
    """From which cap on one call would have been enough; empty where that is not certain."""
    tokens, ceiling = enough_for_one_call(snapshot), snapshot.asked.ceiling
    if tokens is None:
        return ""
    least = f"{SHOWN.name} ≥ {number(tokens)}"
    if ceiling is not None and ceiling < tokens:
        if ceiling >= snapshot.spent.output_tokens:
            return ""  # it may have been enough
        of_connection = f"{limit_in_words('max_output_tokens')} of the connection ({number(ceiling)})"
        return f"One call would have needed {least}, above {of_connection}."
    return f"With {least}, one call would have been enough."


def _continued(snapshot: Snapshot) -> str:
    """The continuations of the turn itself, and of a fork those that it began with."""
    own = snapshot.own.continuations
    before = snapshot.spent.continuations - own
    if not before:
        return f"after {count(own, 'continuation')}"
    if not own:
        return f"after {count(before, 'continuation')}, in the original turn"
    return f"after {count(before + own, 'continuation')}, {number(before)} of them in the original turn"
