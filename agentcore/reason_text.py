"""Reasons in the words that readers see, made of what was judged: the decision, the numbers it was judged by, and the
turn's state.

A history keeps each reason in the sentence it is verified by. That sentence is shown where it reads well, and where the
turn's state is not known; it is never read.
"""

from collections.abc import Callable, Mapping
from typing import Any

from agentcore.criteria.envelope_retries import envelope_bound, envelope_cause
from agentcore.criteria.incomplete_answers import (
    APART,
    CUT_BELOW_CAP,
    NO_RETRY,
    completion_spent,
    cut_cause,
)
from agentcore.cuts import same_caps
from agentcore.envelope import EnvelopeFault
from agentcore.error_policy import ErrorContext, ErrorHandlingDecision
from agentcore.errors import ErrorType, ProviderError
from agentcore.number_format import as_set, number, seconds
from agentcore.policy import LIMIT_NAMES, limit_in_words
from agentcore.reasons import NormalizedStopReason
from agentcore.resource import ALL_TOKENS, bound_of
from agentcore.snapshot import Snapshot
from agentcore.truncation_cause import SHOWN

Json = Mapping[str, Any]  #: an evaluation, as `ContinuationEvaluation.to_dict` writes it

_FORBID, _STOP, _ALLOW, _REQUEST = "forbid", "stop", "allow", "request"
#: What a built-in criterion that checks no limit is called: its name in a list, and the same words in a sentence.
_CRITERIA: Mapping[str, tuple[str, str]] = {
    "TruncationCriterion": ("Truncated answers", "the rules for {}"),
    "EnvelopeCriterion": ("Envelopes", "the rules for {}"),
    "FinishReasonCheck": ("Final stop reasons", "the policy's {}"),
    "ErrorPolicyCriterion": ("Error policy", "the {}"),
    "ToolCallPresenceCheck": ("Tool calls", "the check for {}"),
    "ResponseContentCheck": ("Answer's content", "the check of the {}"),
}
#: The limit of a built-in criterion that checks one. The criterion is called by it.
_LIMITS: Mapping[str, str] = {
    "StepsLimit": "max_steps",
    "TokenUsageLimit": "max_total_tokens",
    "ExecutionTimeLimit": "max_seconds",
}


def criterion_name(key: str) -> str:
    """`Error policy`: the name of a criterion in a list; a custom criterion is called by its class."""
    return LIMIT_NAMES[_LIMITS[key]] if key in _LIMITS else _CRITERIA.get(key, (key, ""))[0]


def criterion_in_words(key: str) -> str:
    """`the error policy`; a custom criterion is called by its class: `the criterion Budget`."""
    if key in _LIMITS:
        return limit_in_words(_LIMITS[key])
    name, sentence = _CRITERIA.get(key, (key, ""))
    return sentence.format(name[0].lower() + name[1:]) if sentence else f"the criterion {key}"


def evaluation_text(said: Json, snapshot: Snapshot | None, error: ProviderError | None = None) -> str:
    """The reason of an evaluation. `snapshot`: the turn after it, None where it is not known; `error`: the error it was
    asked about, where that is not the snapshot's."""
    failure = snapshot.failure if snapshot else None
    asked = error or (failure.provider if failure else None)
    made = _MADE.get(said["criterion"])
    text = made(said, snapshot, asked) if made else None
    if text is None and snapshot is not None and said["criterion"] in _COUNTS:
        text = _COUNTS[said["criterion"]](said["context"], snapshot)
    return str(said["reason"]) if text is None else text


def failures_text(context: Json) -> str:
    """`tool error, 1 failure`, `model error, 3 failures in a row`. `context`: what the error policy was asked with."""
    kind, failures = str(context["errorType"]).replace("_", " "), context["consecutiveFailures"]
    return f"{kind} error, {'1 failure' if failures == 1 else f'{number(failures)} failures in a row'}"


def _steps(said: Json, _snapshot: Snapshot | None, _error: ProviderError | None) -> str | None:
    used, limit = said["context"].get("used"), said["context"].get("limit")
    return None if used is None or limit is None else f"{used} of {limit} steps"


def _seconds(said: Json, _snapshot: Snapshot | None, _error: ProviderError | None) -> str | None:
    used, limit = said["context"].get("used"), said["context"].get("limit")
    if used is None:
        return None
    if limit is None:
        return f"{as_set(round(used, 1), 's')} since the start, without pauses; no limit"
    return f"{used:.1f} of {as_set(limit, 's')} since the start, without pauses"


def _final(said: Json, _snapshot: Snapshot | None, _error: ProviderError | None) -> str | None:
    if said["decision"] == _FORBID:
        return f"the policy ends a turn at the stop reason “{said['context'].get('reason')}”"
    none = said["decision"] == _ALLOW and said["context"].get("reason") is None
    return "no stop reason to check at this transition" if none else None


def _calls(said: Json, _snapshot: Snapshot | None, _error: ProviderError | None) -> str | None:
    return "no answer to check at this transition" if said["decision"] == _ALLOW else None


def _truncation(said: Json, snapshot: Snapshot | None, _error: ProviderError | None) -> str | None:
    context, bound = said["context"], said["context"].get("bound")
    if said["decision"] == _ALLOW:
        return "no truncated answer to continue at this transition"
    if bound == "retry_limit" and snapshot is not None and snapshot.observed:
        return _not_done(snapshot)
    if bound == "retry_limit" and _nothing_allowed(context):
        return _no_call(context, snapshot)
    if snapshot is None:
        return None
    if said["decision"] == _REQUEST and "tokensUsed" in context:
        return _goes_on(context, snapshot)
    if bound == "repetition":
        return _idle(snapshot)
    return _observed(snapshot) if bound in APART else None


#: Why the answer of an observed call was not continued.
BY_PROGRAM = "the program that made the call did not continue the answer"


def _not_done(snapshot: Snapshot) -> str:
    """Of calls that were only observed, which no limit of ours ended."""
    if snapshot.repairing is not None:
        return f"{snapshot.repairing} tool call; the program that made the call did not request it again"
    return BY_PROGRAM


def _goes_on(context: Json, snapshot: Snapshot) -> str:
    """`cut off; 1 of 3 continuations used, 1,180 tokens left`; of observed calls, no limit is known."""
    cut = "paused" if snapshot.model_stop_reason == NormalizedStopReason.PAUSED else "cut off"
    if snapshot.observed:
        return f"{cut}; the program that made the call continued the answer"
    used, limit, total = context["used"], context["limit"], context["tokensLimit"]
    left = "" if total is None else f", {snapshot.about}{number(max(0, total - context['tokensUsed']))} tokens left"
    return f"{cut}; {number(used)} of {number(limit)} continuations used{left}"


def _spent(context: Json, snapshot: Snapshot) -> str | None:
    """How much of the total is used that a further call counts against."""
    spent, limits, bound = snapshot.spent, snapshot.limits, context.get("bound")
    if bound not in ("budget_exhausted", "output_cap"):
        return None
    if bound == "output_cap":
        if snapshot.cut_at_cap:
            return f"the text was cut at {number(limits.max_total_output_chars)} characters"
        return f"{number(spent.output_chars)} of {number(limits.max_total_output_chars)} characters used"
    if snapshot.completion_budget is not None and completion_spent(snapshot):
        total = number(snapshot.completion_budget)
        return f"{snapshot.about}{number(spent.output_tokens)} of {total} completion tokens used"
    total_tokens = limits.max_total_tokens
    if total_tokens is None:
        return None
    return f"{snapshot.about}{number(spent.total_tokens)} of {number(total_tokens)} tokens used"


def _tokens(context: Json, snapshot: Snapshot) -> str | None:
    used, limit = context.get("used"), context.get("limit")
    if used is None:
        return None
    counted = f"{snapshot.about}{number(used)}"
    return f"{counted} tokens in and out; no limit" if limit is None else f"{counted} of {number(limit)} tokens"


def _nothing_allowed(context: Json) -> bool:
    return bool(context.get("used") == 0 and context.get("limit") == 0)


def _no_call(context: Json, snapshot: Snapshot | None) -> str | None:
    """A continuation is judged by tokens too, a repair by its number alone."""
    if "tokensUsed" in context:
        return f"{limit_in_words('max_continuations')} is 0"
    if snapshot is None:
        return None
    # It stands in brackets, within which no others are put.
    return f"{snapshot.repairing or 'broken'} tool call; {LIMIT_NAMES['max_tool_repair_attempts']} is 0"


def _idle(snapshot: Snapshot) -> str:
    """What ended a turn whose last answers added nothing."""
    many = f"{snapshot.idle_answers} answers in a row, and no text came"
    if snapshot.eaten:
        return f"reasoning used up {SHOWN.name if same_caps(snapshot) else ALL_TOKENS} in {many}"
    if snapshot.refused_as_cut:
        return f"{SHOWN.name} was used up in {many}"
    return f"{snapshot.idle_answers} truncated answers in a row added nothing new"


def _observed(snapshot: Snapshot) -> str | None:
    """Why an observed call takes no other step."""
    if snapshot.repairing is not None:
        return f"{snapshot.repairing} tool call; {_NOT_REQUESTED}"
    cause = cut_cause(snapshot, SHOWN)
    return None if cause is None else f"{cause.words}; an observed call is not continued"


_NOT_REQUESTED = "an observed call is not requested again"


def _envelope(said: Json, snapshot: Snapshot | None, _error: ProviderError | None) -> str | None:
    if said["decision"] == _ALLOW:
        return "no envelope to check at this transition"
    if said["decision"] == _STOP:
        return "it ended by itself and is valid"
    if said["decision"] != _FORBID:
        return None
    fault, bound = said["context"].get("fault"), bound_of(said, snapshot.outcome if snapshot else None)
    if bound in APART and snapshot is not None and snapshot.watched and not snapshot.limits.schema_rounds:
        return _observed_envelope(snapshot)
    if fault == EnvelopeFault.UNKNOWN:
        return "an answer that cannot be checked is not requested again"
    if fault == EnvelopeFault.TRUNCATION and bound == CUT_BELOW_CAP:
        unset = f"with {LIMIT_NAMES['max_tokens']} not set"  # in brackets too
        return f"cut off {unset}; the same request again has no larger budget"
    none_allowed = bound == "schema_rounds" and _nothing_allowed(said["context"])
    return "no envelope retries are allowed" if none_allowed else None


def _observed_envelope(snapshot: Snapshot) -> str | None:
    fault = snapshot.reading.fault if snapshot.reading else None
    if fault is None or envelope_bound(snapshot, fault) is None:
        return None
    return "; ".join(filter(None, (envelope_cause(snapshot, SHOWN).words, _NOT_REQUESTED)))


def _errors(said: Json, snapshot: Snapshot | None, error: ProviderError | None) -> str | None:
    context = said["context"]
    failed = snapshot.failure if snapshot is not None else None
    unresolved = context.get("unresolved") or (failed is not None and failed.unresolved)
    if unresolved or not context.get("consecutiveFailures"):
        return None
    kind = f"{context['errorType'].capitalize().replace('_', ' ')} error"
    match context.get("handling"):
        case ErrorHandlingDecision.RETRY:
            return f"{kind}, retrying ({context['consecutiveFailures']}/{context['maxRetries']})"
        case ErrorHandlingDecision.IGNORE:
            return f"{kind} ignored by policy"
        case _:
            return _stopped(said, snapshot, error)


def _stopped(said: Json, snapshot: Snapshot | None, error: ProviderError | None) -> str | None:
    """The error policy stops: because of the number of failures, because it says so, or because no retry helps."""
    context, bound = said["context"], bound_of(said, snapshot.outcome if snapshot else None)
    if bound == NO_RETRY and error is not None:
        if error.retryable:
            return None if _would_retry(context, snapshot) else wait_text(error)
        return f"the same request would fail again ({error.kind})"
    if snapshot is None and bound != "max_retries":
        return None  # the resolver of the error's context may have failed
    if snapshot is not None and snapshot.observed:
        return f"{failures_text(context)}; the program that made the call did not try again"
    return f"{failures_text(context)}; {bound_of_errors(context, snapshot)}"


def _would_retry(context: Json, snapshot: Snapshot | None) -> bool:
    """Whether the policy alone would have retried, as far as is known: then the recorded reason names the wait."""
    if snapshot is None:
        return True
    asked = ErrorContext(ErrorType(context["errorType"]), context["consecutiveFailures"], context["totalFailures"])
    return snapshot.error_policy.evaluate(asked) is ErrorHandlingDecision.RETRY


def wait_text(error: ProviderError) -> str:
    """Of an error whose provider asks to be left alone for longer than a retry may wait."""
    return f"the provider asks to wait {seconds(error.retry_after or 0)}, longer than a retry may wait"


def bound_of_errors(context: Json, snapshot: Snapshot | None) -> str:
    """The setting by which the error policy stops: `tool errors stop the turn`, or how many failures it allows."""
    key = f"on_{context['errorType']}_error"
    if snapshot is not None and getattr(snapshot.error_policy, key, None) is ErrorHandlingDecision.STOP:
        return f"{str(context['errorType']).replace('_', ' ')} errors stop the turn"
    return f"{limit_in_words('max_retries')} is {number(context['maxRetries'])}"


_MADE: Mapping[str, Callable[[Json, Snapshot | None, ProviderError | None], str | None]] = {
    "TruncationCriterion": _truncation,
    "EnvelopeCriterion": _envelope,
    "StepsLimit": _steps,
    "ExecutionTimeLimit": _seconds,
    "FinishReasonCheck": _final,
    "ErrorPolicyCriterion": _errors,
    "ToolCallPresenceCheck": _calls,
}
#: Reasons that count tokens or characters.
_COUNTS: Mapping[str, Callable[[Json, Snapshot], str | None]] = {
    "TruncationCriterion": _spent,
    "TokenUsageLimit": _tokens,
}
