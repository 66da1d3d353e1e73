"""How the guards of `evaluate_error` stood: what the error was, and what the error policy made of it."""

from collections.abc import Callable

from agentcore.error_policy import ErrorHandlingDecision
from agentcore.reason_text import evaluation_text
from agentcore.reasons import NormalizedStopReason
from agentcore.why.limit_usage import amounts_of, missing
from agentcore.why.transition_case import Case, Stand

Look = Callable[[Case], Stand]
#: The stop reasons that an error can really be, and which then decide before the policy.
_REAL = (
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
    NormalizedStopReason.SAFETY_BLOCKED,
    NormalizedStopReason.MAX_TOKENS,
)


def really(reason: str) -> Look:
    """A guard on the stop reason that an error really is."""

    def look(case: Case) -> Stand:
        if case.error is None:
            return Stand(None, "")
        named = case.error.stop_reason
        return Stand(named == reason, f"the error is {named or case.error.kind}")

    return look


def cut(*, structured: bool) -> Look:
    """A guard on an error that says that the answer was cut: a structured one goes a way of its own.

    Not in a turn that is judged by the rules from before it did.
    """
    named = really("max_tokens")

    def look(case: Case) -> Stand:
        stand, snapshot = named(case), case.snapshot
        if not stand.open or snapshot is None or snapshot.setup is None:
            return stand
        wanted = snapshot.setup.envelope_schema is not None and snapshot.revision is not None
        if wanted == structured:
            return stand
        return Stand(False, "an envelope was requested" if wanted else "no envelope was requested")

    return look


def _asked(case: Case) -> bool:
    """Whether the policy had a say: an error that really is a stop reason goes that reason's way."""
    return case.error is not None and case.error.stop_reason not in _REAL


def _of_text(case: Case, *, with_text: bool) -> Stand | None:
    """Shut, where what there is of an answer is not as the guard wants it."""
    if case.snapshot is None or bool(case.snapshot.output_text) == with_text:
        return None
    return Stand(False, "there is no part of an answer" if with_text else "there is part of an answer")


def stops(*, with_text: bool) -> Look:
    """A guard on what forbids, by whether there is text to keep."""

    def look(case: Case) -> Stand:
        if case.outcome is None:
            return Stand(None, "")
        if not _asked(case):
            return Stand(False, "the error is a stop reason")
        if case.forbade:
            forbade = evaluation_text(case.forbade[0], case.snapshot, case.error)
            return _of_text(case, with_text=with_text) or Stand(True, forbade, counted=True)
        amount = amounts_of(case).get("max_retries")
        if amount is None or _handling(case) != ErrorHandlingDecision.RETRY:
            return Stand(False, "nothing forbade")
        return Stand(False, amount.words, counted=True)

    return look


def ignores(*, with_text: bool) -> Look:
    """A guard on a policy that ignores the error, by whether there is text to keep."""

    def look(case: Case) -> Stand:
        if case.outcome is None:
            return Stand(None, "")
        if not _asked(case):
            return Stand(False, "the error is a stop reason")
        if _handling(case) != ErrorHandlingDecision.IGNORE or case.forbade:
            return Stand(False, _policy_says(case))
        return _of_text(case, with_text=with_text) or Stand(True, "ignored by policy")

    return look


def _handling(case: Case) -> str:
    return str(case.context("ErrorPolicyCriterion").get("handling", ""))


def _policy_says(case: Case) -> str:
    handling = _handling(case)
    return f"the error policy says {handling}" if handling else "the handling by the error policy is not recorded"


def retries(case: Case) -> Stand:
    """Whether the error policy retried; where retries ran out, what would have let it."""
    if case.outcome is None:
        return Stand(None, "")
    if not _asked(case):
        return Stand(False, "the error is a stop reason")
    if not case.forbade:
        return Stand(_handling(case) == ErrorHandlingDecision.RETRY, _policy_says(case))
    lack = missing(case)
    if lack.stubborn:
        return Stand(False, evaluation_text(case.forbade[0], case.snapshot, case.error))
    used = ", ".join(amount.words for amount in lack.limits)
    return Stand(False, f"{used}; {lack.words}", counted=True)
