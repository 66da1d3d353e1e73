"""How the guards stood where another call was judged: a continuation, a repair, an envelope retry, an iteration."""

from collections.abc import Callable

from agentcore.reason_text import evaluation_text
from agentcore.resource import IDLE, LIMIT_OF
from agentcore.states import State, Trigger
from agentcore.truncation_cause import SHOWN
from agentcore.why.limit_usage import amounts_of, missing, nearest
from agentcore.why.transition_case import Case, Stand

Look = Callable[[Case], Stand]
#: Whose Forbid is named by a trigger of its own.
_OWN = {
    State.CONTINUE_PENDING: ("TruncationCriterion",),
    State.REPAIR_PENDING: ("TruncationCriterion",),
    State.EVALUATE_ENVELOPE: ("EnvelopeCriterion",),
    State.EVALUATE_CONTINUATION: (),
}


def spent(limit_name: str) -> Look:
    """A guard on one limit."""

    def look(case: Case) -> Stand:
        amount = amounts_of(case).get(limit_name)
        if amount is None:
            known = case.outcome is not None and limit_name in LIMIT_OF.values()
            return Stand(False, f"there is no {limit_name}") if known else Stand(None, "")
        return Stand(amount.spent, amount.words, counted=True)

    return look


def budget(case: Case) -> Stand:
    """The two totals of tokens: of completions, and of input and output together where that has a limit."""
    amounts = amounts_of(case)
    totals = [amounts[name] for name in ("max_total_completion_tokens", "max_total_tokens") if name in amounts]
    words = " and ".join(amount.words for amount in totals)
    return Stand(any(amount.spent for amount in totals) if totals else None, words, counted=bool(totals))


def repetition(case: Case) -> Stand:
    """Whether two cut answers running added nothing new."""
    if case.outcome is None or case.snapshot is None:
        return Stand(None, "")
    idle = case.snapshot.idle_answers
    if case.snapshot.eaten and idle >= IDLE:
        return Stand(
            True,
            f"reasoning used up {SHOWN.name} in {idle} answers in a row, and no text came",
            counted=True,
        )
    if case.snapshot.refused_as_cut and idle >= IDLE:
        return Stand(
            True,
            f"{SHOWN.name} was used up in {idle} answers in a row, and no text came",
            counted=True,
        )
    if idle >= IDLE:
        return Stand(True, f"{idle} truncated answers in a row added nothing new", counted=True)
    one = "one truncated answer added nothing new; a second would have stopped it"
    return Stand(False, one if idle else "the last one added text", counted=bool(idle))


def forbidden(case: Case) -> Stand:
    """Whether a criterion forbade that has no trigger of its own here; else the limit that was nearest to it."""
    if case.outcome is None:
        return Stand(None, "")
    own = _OWN.get(case.source, ())
    beside = [said for said in case.forbade if said["criterion"] not in own]
    if case.trigger is Trigger.FORBIDDEN or beside:
        why = evaluation_text((beside or list(case.forbade))[0], case.snapshot, case.error)
        return Stand(True, why, counted=True)
    near = nearest(case)
    return Stand(False, near.words if near else "no criterion forbade", counted=near is not None)


def room(case: Case) -> Stand:
    """Whether another call had room; where it had not, what would have given it."""
    if case.outcome is None:
        return Stand(None, "")
    if case.outcome["shouldContinue"]:
        return Stand(True, "no limit was used up")
    if not case.forbade:
        return Stand(False, "nothing requested to continue")
    lack = missing(case)
    used = ", ".join(amount.words for amount in lack.limits)
    return Stand(False, "; ".join(filter(None, (used, lack.words))), counted=bool(lack.limits))


def idle(case: Case) -> Stand:
    """Whether nothing requested to continue after tools."""
    if case.outcome is None:
        return Stand(None, "")
    asked = bool(case.outcome["shouldContinue"])
    why = "the model waits for the results" if asked else "a criterion forbade" if case.forbade else "nothing asked"
    return Stand(not asked and not case.forbade, why)


def _fault(case: Case) -> str | None:
    fault = case.context("EnvelopeCriterion").get("fault")
    return None if fault is None else str(fault)


_FAULTS = {
    None: "it ended by itself and fits",
    "truncation": "it was cut",
    "schema-violation": "it does not fit the schema",
    "parse-error": "it is not JSON",
    "refusal": "the provider refused",
    "unknown": "it could not be judged",
}


def fault_is(wanted: str | None) -> Look:
    """A guard on what the structured answer came to."""

    def look(case: Case) -> Stand:
        if "fault" not in case.context("EnvelopeCriterion"):
            return Stand(None, "")
        return Stand(_fault(case) == wanted, _FAULTS.get(_fault(case), "it is not complete"))

    return look


def again(*faults: str) -> Look:
    """A guard on a fault that is asked for again while rounds are left and nothing forbids."""

    def look(case: Case) -> Stand:
        if "fault" not in case.context("EnvelopeCriterion"):
            return Stand(None, "")
        fault = _fault(case)
        if fault not in faults:
            return Stand(False, _FAULTS.get(fault, "it is not complete"))
        return room(case)

    return look


def exhausted(case: Case) -> Stand:
    """Whether no round is left for a fault, or none could help."""
    amount = amounts_of(case).get("schema_rounds")
    if amount is None:
        return Stand(None, "")
    fault, own = _fault(case), case.said("EnvelopeCriterion")
    if fault is None:
        return Stand(False, "it is complete")
    forbade = own is not None and own["decision"] == "forbid" and fault not in ("refusal", "unknown")
    return Stand(forbade, evaluation_text(own, case.snapshot) if own and forbade else amount.words, counted=True)


def returned(case: Case) -> Stand:
    """What there is goes back, unless the turn is held before."""
    return Stand(not case.held, "held before it was returned")
