"""Why a transition was made, in the words that readers see: made of its case, as `reason_text` makes those of an
evaluation."""

from collections.abc import Callable, Mapping

from agentcore.error_text import notice_text
from agentcore.number_format import count, number
from agentcore.reason_text import evaluation_text
from agentcore.snapshot import Snapshot
from agentcore.states import State, Trigger
from agentcore.truncation_cause import SHOWN, below_cap, beside_word
from agentcore.why.transition_case import Case

_FORBIDS = frozenset(
    {
        Trigger.FORBIDDEN,
        Trigger.RETRY_LIMIT,
        Trigger.BUDGET_EXHAUSTED,
        Trigger.OUTPUT_CAP,
        Trigger.REPETITION,
        Trigger.EXHAUSTED,
        Trigger.STOP,
        Trigger.STOP_WITH_TEXT,
    }
)
#: Where the sentence of the turn's end is that of the transition too; elsewhere that is the criterion's alone.
_WHOLE = (State.EVALUATE_STOP, State.REPAIR_PENDING)


def transition_text(case: Case) -> str:
    """The reason of a transition out of a deciding state."""
    if case.trigger in _FORBIDS and case.forbade:
        return _forbidden(case)
    made = _MADE.get(case.source)
    text = made(case) if made and not case.held else None
    return case.reason if text is None else text


def _forbidden(case: Case) -> str:
    reason = evaluation_text(case.forbade[0], case.snapshot, case.error)
    if case.source not in _WHOLE:
        return reason
    sentence = case.snapshot.end.sentence if case.snapshot and case.snapshot.end else None
    return case.reason if sentence is None else sentence.happened(reason)


def _answered(case: Case) -> str | None:
    """What the provider said; of calls that end the turn, who runs them."""
    known, response = case.snapshot, case.response
    if known is not None and known.end is not None and known.end.calls and known.asked.client_tools:
        return f"the model asked for {', '.join(call.name for call in known.end.calls)}; the caller runs them"
    if case.trigger not in _PROVIDER_SAID or response is None or known is None:
        return None
    if response.answered_by or response.raw_stop_reason is not None:
        return None
    return f"the provider gave no stop reason: {response.stop_reason}{_below_cap(case, known)}"


_PROVIDER_SAID = frozenset(
    {
        Trigger.END_TURN,
        Trigger.MAX_TOKENS,
        Trigger.PAUSED,
        Trigger.ENVELOPE,
        Trigger.SAFETY_BLOCKED,
        Trigger.CONTEXT_WINDOW_EXCEEDED,
        Trigger.CANCELLED,
        Trigger.UNKNOWN_FATAL,
    }
)


def _below_cap(case: Case, known: Snapshot) -> str:
    """Where the answer was cut that its cap did not cut."""
    if case.trigger not in (Trigger.MAX_TOKENS, Trigger.PAUSED) or case.answered_call is None or not known.revision:
        return ""
    cap = case.sent_cap
    assert case.response is not None, "a cut answer was answered"
    return f", {beside_word(case.response, cap, SHOWN)}" if below_cap(case.response, cap) else ""


def _another_call(name: str) -> Callable[[Case], str | None]:
    """`continuation 1 of 3, 12,000 tokens`; of a call for which nobody set a cap `continuation 1 of 3, Max tokens per
    call (max_tokens) not set`; of observed calls `continuation 1`."""

    def made(case: Case) -> str | None:
        known = case.snapshot
        if case.trigger is not Trigger.UNDER_LIMITS or known is None or known.call is None:
            return None
        spent, limits = known.spent, known.limits
        of = {
            "continuation": (spent.continuations, limits.max_continuations),
            "repair": (spent.tool_repairs, limits.max_tool_repair_attempts),
        }
        used, limit = of[name]
        counted = f"{name} {number(used)}" if known.observed else f"{name} {number(used)} of {number(limit)}"
        if known.next_cap_unknown:
            return counted
        return f"{counted}, {f'{SHOWN.name} not set' if known.uncapped else count(known.call.max_tokens, 'token')}"

    return made


def _tools_told(case: Case) -> str | None:
    if case.trigger is Trigger.STOP:
        return "nothing requests another call"
    counted = case.context("StepsLimit")
    if case.trigger is not Trigger.CONTINUE or "used" not in counted:
        return None
    return f"step {counted['used'] + 1} of {counted['limit']}"


def _envelope(case: Case) -> str | None:
    reading = case.snapshot.reading if case.snapshot is not None else None
    whole = case.trigger is Trigger.COMPLETE and reading is not None and not reading.cut
    return "it ended by itself and is valid" if whole else None


def _error(case: Case) -> str | None:
    ignored = case.trigger in (Trigger.IGNORE, Trigger.IGNORE_WITH_TEXT)
    return "ignored by the error policy; there is no answer to return" if ignored else None


def _returned(case: Case) -> str | None:
    return notice_text(case.snapshot) if case.snapshot is not None and case.snapshot.end is not None else None


_MADE: Mapping[State, Callable[[Case], str | None]] = {
    State.EVALUATE_STOP: _answered,
    State.CONTINUE_PENDING: _another_call("continuation"),
    State.REPAIR_PENDING: _another_call("repair"),
    State.EVALUATE_CONTINUATION: _tools_told,
    State.EVALUATE_ENVELOPE: _envelope,
    State.EVALUATE_ERROR: _error,
    State.ABORT_PARTIAL: _returned,
}
