"""What a person can do about a turn that no higher limit would have helped: the sentence and the places it leads to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.criteria.builtin import ErrorPolicyCriterion
from agentcore.number_format import seconds
from agentcore.observed_verdict import full
from agentcore.reasons import NormalizedStopReason, TurnStatus
from agentcore.snapshot import Snapshot
from agentcore.verdict import verdict_of
from dashboard.agents.models import Connection
from dashboard.live.turn_loader import CANNOT_RERUN, connection_of, may_be_rerun
from dashboard.policies.suggestions.exhausted_limits import OF_CONNECTION, ceiling_today
from dashboard.policies.suggestions.suggestion_text import full_in_words
from dashboard.turns.end_summary import may_be_cut
from dashboard.turns.envelope_faults import wrong_fields
from dashboard.turns.models import UNFINISHED, Turn

_OTHER_PROMPT = "Change the prompt, or use another model."
#: By the reason why the turn ended. A turn that ended otherwise has the button alone.
_BY_END: Mapping[str, str] = {
    "safety_blocked": _OTHER_PROMPT,
    "empty_output": _OTHER_PROMPT,
    "unknown_fatal": _OTHER_PROMPT,
    "context_window_exceeded": "Shorten the conversation, or use a model with a larger context window.",
}
#: By the kind of the provider's error: what to look at first.
_BY_ERROR: Mapping[str, str] = {
    "auth": "Check the API key of {connection}, and what it may use.",
    "quota": "Check the balance and the plan of the account behind {connection}.",
    "not_found": "Check the model {model} and the base URL of {connection}.",
    "not_dialect": "Check the base URL and the provider of {connection}.",
    "context_length": _BY_END["context_window_exceeded"],
    "content_policy": _OTHER_PROMPT,
}


@dataclass(frozen=True, slots=True)
class NextStep:
    """`connection`: the one to look at first, or None; `reruns`: whether the turn can be re-run here."""

    advice: str
    connection: Connection | None
    reruns: bool = True


def leading_on(turn: Turn, last: Snapshot | None) -> dict[str, Any]:
    """`advice`, what the verdict says of limits, and `step`, for the template. `last`: None without records."""
    said = verdict_of(last) if last is not None else None
    return {"advice": said.helps if said else "", "step": next_step_of(turn, last) if last is not None else None}


def next_step_of(turn: Turn, last: Snapshot) -> NextStep | None:
    """None while the turn runs, and where it completed, unless it may be cut at a cap that cannot be raised."""
    if turn.status in UNFINISHED or last.end is None:
        return None
    if turn.status == TurnStatus.COMPLETED:
        told = _full(turn, last) if may_be_cut(turn) else ""
        return NextStep(told, None, may_be_rerun(turn)) if told else None
    kind = _kind_of_error(last)
    words = _BY_ERROR.get(kind) or _BY_END.get(last.end.terminal_reason, "") or _later(last, kind)
    words = words or _repeated(turn, last) or _invalid(last) or _full_where_cut(turn, last) or _cut_below(last)
    if not may_be_rerun(turn):
        return NextStep(_without_rerun(turn, kind, words, last), None, reruns=False)
    if kind not in OF_CONNECTION:  # a connection is a query of its own
        return NextStep(words, None)
    asked = connection_of(turn)
    if asked is None:
        return NextStep(f"Connection {turn.overrides['connection']} no longer exists.", None)
    return NextStep(words.format(model=last.asked.model, connection=f"connection {asked.name}"), asked)


def _later(last: Snapshot, kind: str) -> str:
    """Of an error that no policy of ours tries again: its provider asks to wait for too long, or another program made
    the call. Empty of any other."""
    error = last.failure.provider if kind and last.failure else None
    asked = error.retry_after if error else None
    if last.observed:
        return _by_program(asked) if error and error.retryable else ""
    longest = ErrorPolicyCriterion().max_retry_after
    if asked is None or asked <= longest:
        return ""
    return (
        f"The provider asked to try again in {seconds(asked)}. Whystop waits {seconds(longest)} at most, "
        "so no error policy would have tried the call again. Re-run the turn later."
    )


def _by_program(asked: float | None) -> str:
    why = f"the provider asked to try again in {seconds(asked)}" if asked else "the error may be temporary"
    return f"Another program made this call, and may try it again: {why}."


def _repeated(turn: Turn, last: Snapshot) -> str:
    """Of truncated answers that added nothing: which limit stopped them, and why none can be raised."""
    if last.end is None or last.end.terminal_reason != "repetition":
        return ""
    words = (
        "No setting of the policy stopped this turn: Whystop always stops after two truncated answers without new text."
    )
    return f"{words} {_full(turn, last)}".rstrip()


def _full(turn: Turn, last: Snapshot) -> str:
    """Why the cap of the last call cannot be raised; empty where it can."""
    ceiling, cap = ceiling_today(turn, last), last.sent_cap
    if ceiling is None or cap is None or cap < ceiling:
        return ""
    return f"{full_in_words(ceiling)} Raise that setting of the connection, or change the prompt."


def _full_where_cut(turn: Turn, last: Snapshot) -> str:
    return _full(turn, last) if last.model_stop_reason == NormalizedStopReason.MAX_TOKENS else ""


def _cut_below(last: Snapshot) -> str:
    """Of a structured answer that was cut below its cap, whose verdict tells only that it had no valid end."""
    structured = last.setup is not None and last.setup.envelope_schema is not None
    return full(last) if structured and last.cut_below_cap else ""


def _invalid(last: Snapshot) -> str:
    """Of a structured answer that its schema does not allow: what is wrong with which field."""
    wrong = wrong_fields(last)
    told = f"What the JSON Schema does not allow: {wrong}. Change the prompt or the schema, or use another model."
    return told if wrong else ""


def _without_rerun(turn: Turn, kind: str, words: str, last: Snapshot) -> str:
    """Of a turn that another program made, or whose connection was deleted or is not known for certain."""
    if not words or (kind in OF_CONNECTION and hasattr(turn, "ingested")):
        return CANNOT_RERUN
    return words.format(model=last.asked.model, connection="the connection that was used")


def _kind_of_error(last: Snapshot) -> str:
    """Empty where no error of the provider ended the turn."""
    ended = last.end is not None and last.end.terminal_reason == "provider_error"
    return last.failure.provider.kind if ended and last.failure and last.failure.provider else ""
