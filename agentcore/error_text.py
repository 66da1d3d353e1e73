"""The phrases of a verdict about errors: how many calls failed, what left no other try, what the error policy said."""

from collections.abc import Mapping
from typing import Any

from agentcore.commands import Finish
from agentcore.criteria.builtin import stopped_after
from agentcore.error_policy import ErrorHandlingDecision
from agentcore.machine.judges.evaluate_stop import BLOCKED
from agentcore.machine.snapshot import Snapshot
from agentcore.number_format import count, number
from agentcore.reason_text import in_plain_words
from agentcore.reasons import StopReason
from agentcore.refusal import Refuser, refuser_of
from agentcore.resource import LIMIT_OF, no_retry_helps, resource_of


def failed(snapshot: Snapshot, end: Finish) -> str:
    """How the calls failed, why no other was made, and the provider's own words; follows “Failed”."""
    failures = snapshot.spent.total_failures
    ran_out = _after(failures, snapshot.spent.attempts)
    ran_out += _beside_retries(snapshot)
    if end.stop_reason is StopReason.RETRY_LIMIT and not no_retry_helps(snapshot):
        ran_out += f" (max_retries is {number(snapshot.error_policy.max_retries)})"
    kept = " The partial answer is kept." if snapshot.output_text else ""
    return f"{ran_out}: {_closed(plainly(snapshot, end.error_message or str(end.error_code)))}{kept}"


def stopped_in_time(snapshot: Snapshot) -> str:
    """In which call the turn's own time limit ended it; follows “Stopped”."""
    outcome, attempts = snapshot.outcome, snapshot.spent.attempts
    used = f" ({outcome.forbidding_reason()})" if outcome else ""
    call = "the first call" if attempts == 1 else f"call {number(attempts)}"
    kept = " The partial answer is kept." if snapshot.output_text else ""
    return f" at max_seconds during {call}{used}.{kept}"


def _after(failures: int, attempts: int) -> str:
    """`on the first call`, `on call 3`, `after 2 failed calls`."""
    if failures == 1 and attempts:
        return " on the first call" if attempts == 1 else f" on call {number(attempts)}"
    return f" after {count(failures, 'failed call')}" if failures else ""


def _beside_retries(snapshot: Snapshot) -> str:
    """The limit that left no other try, and how much of it was used."""
    outcome = snapshot.outcome
    if outcome is not None and resource_of(snapshot) == "max_total_completion_tokens":
        return f", with max_total_completion_tokens used up ({outcome.forbidding_reason()})"
    if outcome is None or outcome.resolved_by not in LIMIT_OF:
        return ""
    return f", with {LIMIT_OF[outcome.resolved_by]} used up ({outcome.forbidding_reason()})"


def _closed(sentence: str) -> str:
    """A provider's own words, ended as a sentence is."""
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def plainly(snapshot: Snapshot, told: str) -> str:
    """What the error policy said with plain words in place of the specification's sentence."""
    evaluations = snapshot.outcome.evaluations if snapshot.outcome else ()
    said = next((each for each in evaluations if each.criterion == "ErrorPolicyCriterion"), None)
    unresolved = snapshot.failure is not None and snapshot.failure.unresolved
    if said is None or unresolved or "consecutiveFailures" not in said.context:
        return _refused(snapshot, in_plain_words(told))
    key = f"on_{said.context['errorType']}_error"
    stops = getattr(snapshot.error_policy, key, None) is ErrorHandlingDecision.STOP
    setting = f"{key} set to stop" if stops else f"max_retries set to {number(said.context['maxRetries'])}"
    # A message of a tool ends as a sentence does, within one of ours.
    plain = told.replace(said.reason, f"{_failures_in_words(said.context)}, with {setting}").replace(".).", ").")
    return in_plain_words(plain)


#: Who refused to answer, in place of the provider's block.
_REFUSED = {
    Refuser.MODEL: "The model refused to answer.",
    Refuser.CLASSIFIER: "A safety classifier of the provider refused to answer.",
    Refuser.UNTOLD: "The model or a filter of the provider refused to answer.",
}


def _refused(snapshot: Snapshot, told: str) -> str:
    refuser = refuser_of(snapshot) if told == BLOCKED else None
    return told if refuser is None else _REFUSED[refuser]


def error_in_words(reason: str, context: Mapping[str, Any]) -> str:
    """The reason of an error policy's evaluation without the specification's sentence: `tool error, 1 failure;
    max_retries is 0`; any other reason in plain words. `context`: the numbers of that evaluation."""
    if "consecutiveFailures" not in context:
        return in_plain_words(reason)
    label, most = str(context["errorType"]).capitalize(), context["maxRetries"]
    stored = stopped_after(label, context["consecutiveFailures"], most)
    worded = reason.replace(stored, f"{_failures_in_words(context)}; max_retries is {number(most)}")
    return in_plain_words(worded.replace(f"{label} error", f"{label.replace('_', ' ')} error"))


def _failures_in_words(context: Mapping[str, Any]) -> str:
    kind, failures = str(context["errorType"]).replace("_", " "), context["consecutiveFailures"]
    return f"{kind} error, {'1 failure' if failures == 1 else f'{number(failures)} failures in a row'}"
