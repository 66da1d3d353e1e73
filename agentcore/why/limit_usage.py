"""The numbers of a judgement: what of each limit was used, and what more of it would have let the turn go on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

from agentcore.criteria.incomplete_answers import APART, CUT_BELOW_CAP, MAX_TOKENS, names_bounds
from agentcore.error_policy import ErrorHandlingDecision
from agentcore.number_format import count, number
from agentcore.policy import higher, limit_in_words
from agentcore.reason_text import BY_PROGRAM, criterion_in_words
from agentcore.resource import IDLE, LIMIT_OF, REPEATED, bound_of, idle_in_words, no_retry_helps
from agentcore.states import State
from agentcore.why.transition_case import Case, Json

#: What a limit counts, in the singular.
UNITS: Mapping[str, str] = {
    "max_continuations": "continuation",
    "max_total_completion_tokens": "completion token",
    "max_total_output_chars": "character",
    "max_tool_repair_attempts": "tool repair",
    "max_steps": "step",
    "max_total_tokens": "token in and out",
    "max_seconds": "second",
    "schema_rounds": "envelope retry",
    "max_retries": "failure in a row",
    "max_output_tokens": "token of one call",
    "max_tokens": "token of one call",
}
_PLURALS: Mapping[str, str] = {
    "max_total_tokens": "tokens in and out",
    "schema_rounds": "envelope retries",
    "max_retries": "failures in a row",
    "max_output_tokens": "tokens of one call",
    "max_tokens": "tokens of one call",
}
#: Limits of how often something is done: one more is the next number.
_OFTEN = ("max_continuations", "max_tool_repair_attempts", "max_steps", "schema_rounds", "max_retries")
#: Limits that count tokens, which may be our estimate.
_TOKENS = ("max_total_completion_tokens", "max_total_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class Amount:
    """What of one limit was used when it was judged. `about`: the number is our estimate, or may be one. `least`: how
    much must be left for another call. `full`: something was cut off at it, and nothing fits into what is left."""

    limit_name: str  #: as policies name it
    used: float
    limit: float
    about: bool = False
    least: float = 0.0
    full: bool = False

    @property
    def spent(self) -> bool:
        """Whether nothing, or too little, is left."""
        if self.full:
            return True
        return self.limit - self.used < self.least if self.least else self.used >= self.limit

    @property
    def share(self) -> float:
        """The part that is used; 1 where nothing is allowed."""
        return self.used / self.limit if self.limit else 1.0

    @property
    def unit(self) -> str:
        """What it counts, in the plural."""
        return plural_of(self.limit_name)

    @property
    def words(self) -> str:
        """`3 of 3 continuations used`, `2 of 2 failures in a row`, `Max continuations (max_continuations) is 0`."""
        if not (self.used or self.limit):
            return f"{limit_in_words(self.limit_name)} is 0"
        about, used = "about " if self.about else "", "" if self.limit_name == "max_retries" else " used"
        return f"{about}{number(self.used)} of {number(self.limit)} {self.unit}{used}"

    @property
    def enough(self) -> float:
        """The smallest whole limit under which it would not have been spent."""
        used = max(self.used, self.limit) if self.full else self.used
        return floor(used + max(1.0, self.least)) if self.least else floor(used) + 1

    @property
    def more(self) -> str:
        """What would not have been spent: `4 continuations`, `a higher Max tokens per turn (max_total_tokens)`."""
        if self.limit_name == "max_retries":
            return f"{limit_in_words(self.limit_name)} {number(self.enough)}"
        if self.limit_name in _OFTEN:
            return number_of(self.enough, self.limit_name)
        return higher(self.limit_name)


def plural_of(limit_name: str) -> str:
    """What a limit counts, in the plural."""
    return _PLURALS.get(limit_name) or f"{UNITS[limit_name]}s"


def number_of(value: float, limit_name: str) -> str:
    """`4 continuations`, `1 envelope retry`."""
    return count(value, UNITS[limit_name]) if value == 1 else f"{number(value)} {plural_of(limit_name)}"


def amounts_of(case: Case) -> Mapping[str, Amount]:
    """What of each limit was used, by the limit; only of those that were judged here, and were set."""
    if "amounts" not in case.kept:
        case.kept["amounts"] = {amount.limit_name: amount for amount in _amounts(case)}
    found: Mapping[str, Amount] = case.kept["amounts"]
    return found


def _amounts(case: Case) -> Iterator[Amount]:
    about = case.snapshot is None or case.snapshot.spent.estimated
    cut = case.snapshot is not None and case.snapshot.cut_at_cap
    observed = case.snapshot is not None and case.snapshot.observed
    for name, used, limit in (*_of_truncation(case), *_of_others(case)):
        if observed and name != MAX_TOKENS:
            continue  # nobody has set it: the policy only allows what the calls of their program did
        if _is_number(used) and _is_number(limit):
            least = _floor(case) if name == "max_total_completion_tokens" else 0.0
            yield Amount(name, used, limit, about and name in _TOKENS, least, cut and name == "max_total_output_chars")


def _of_truncation(case: Case) -> Iterator[tuple[str, Any, Any]]:
    said = case.context("TruncationCriterion")
    if said.get("bound") == MAX_TOKENS:
        yield _cap(case, said)
    if case.source is State.EVALUATE_ERROR and said.get("bound") == "budget_exhausted":
        yield "max_total_completion_tokens", said.get("tokensUsed"), said.get("tokensLimit")
    if case.source is State.REPAIR_PENDING and said.get("bound") not in APART:
        yield _repairs(case, said)
    if said.get("bound") == "output_cap" and case.snapshot and case.source is not State.CONTINUE_PENDING:
        yield "max_total_output_chars", case.snapshot.spent.output_chars, case.snapshot.limits.max_total_output_chars
    if case.source is State.CONTINUE_PENDING and said.get("bound") not in APART:
        yield "max_continuations", said.get("used"), said.get("limit")
    if case.source is State.CONTINUE_PENDING:
        yield "max_total_completion_tokens", said.get("tokensUsed"), said.get("tokensLimit")
        yield "max_total_output_chars", said.get("charsUsed"), said.get("charsLimit")


def _cap(case: Case, said: Json) -> tuple[str, Any, Any]:
    """Of the cap of the call itself, where it is known. Where nobody counted, the provider's word is that it was used
    up."""
    if case.snapshot is None:
        return MAX_TOKENS, said.get("callUsed"), said.get("callLimit")
    cap = case.snapshot.known_cap
    return MAX_TOKENS, said.get("callUsed", cap), cap


def _repairs(case: Case, said: Json) -> tuple[str, Any, Any]:
    """Of tool repairs; where the text was cut at its cap as well, the criterion has told of that alone."""
    name, known = "max_tool_repair_attempts", case.snapshot
    if said.get("bound") == "output_cap" and known is not None:
        return name, known.spent.tool_repairs, known.limits.max_tool_repair_attempts
    return name, said.get("used"), said.get("limit")


def _of_others(case: Case) -> Iterator[tuple[str, Any, Any]]:
    for criterion, name in LIMIT_OF.items():
        said = case.context(criterion)
        if name != "max_steps" or _begins_another(case):
            yield name, said.get("used"), said.get("limit")
    if case.source is State.EVALUATE_ENVELOPE:
        said = case.context("EnvelopeCriterion")
        if said.get("bound") == MAX_TOKENS:
            yield _cap(case, said)
        elif said.get("bound") not in APART:
            yield "schema_rounds", said.get("used"), said.get("limit")
    said = case.context("ErrorPolicyCriterion")
    if said.get("consecutiveFailures"):
        yield "max_retries", said["consecutiveFailures"], said.get("maxRetries")


def _begins_another(case: Case) -> bool:
    """Whether going on would have begun another iteration: elsewhere steps are not counted."""
    calls, steps = bool(case.context("ToolCallPresenceCheck").get("calls")), case.said("StepsLimit")
    wanted = calls or (steps is not None and steps["decision"] == "forbid")
    return case.source is State.EVALUATE_CONTINUATION or (case.source is State.EVALUATE_STOP and wanted)


def _floor(case: Case) -> float:
    setup = case.snapshot.setup if case.snapshot else None
    return float(max(1, setup.output_floor)) if setup else 1.0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def nearest(case: Case) -> Amount | None:
    """The limit of criteria beside the state's own that was nearest to its end; None where none is set."""
    beside = [amount for name, amount in amounts_of(case).items() if name in LIMIT_OF.values()]
    return max(beside, key=lambda amount: amount.share, default=None)


@dataclass(frozen=True, slots=True)
class Missing:
    """What would have let the turn go on from a judgement that stopped it. `limits`: the numbers that would have done;
    `stubborn`: what forbade and is no limit, in words; both empty where nothing forbade."""

    limits: tuple[Amount, ...] = ()
    stubborn: tuple[str, ...] = ()
    by_program: bool = False  #: of calls that were only observed: no limit is known

    @property
    def words(self) -> str:
        """`with 4 continuations it would have continued`, or who forbade too."""
        if self.by_program:
            return BY_PROGRAM
        if self.stubborn:
            return f"{' and '.join(self.stubborn)} {'also ' if self.limits else ''}forbade continuing"
        return f"with {' and '.join(amount.more for amount in self.limits)} it would have continued"


def missing(case: Case) -> Missing:
    """What forbade at this judgement, by limit and by name."""
    amounts = amounts_of(case)
    found: dict[str, Amount] = {}
    stubborn: list[str] = []
    for said in case.forbade:
        limits = limits_behind(case, said, amounts)
        found |= {limit.limit_name: limit for limit in limits}
        stubborn += _stubborn_in(case, said, limits)
    observed = case.snapshot is not None and bool(case.snapshot.observed) and bool(case.forbade) and not found
    return Missing(tuple(found.values()), tuple(dict.fromkeys(stubborn)), observed)


def limits_behind(case: Case, said: Json, amounts: Mapping[str, Amount]) -> list[Amount]:
    """The limits by which an evaluation forbade, in the order in which they are named."""
    name = said["criterion"]
    if said["decision"] != "forbid" or _hopeless(case, said):
        return []
    asked = (LIMIT_OF[name],) if name in LIMIT_OF else _OWN.get(name, ())
    if (bound := said["context"].get("bound")) in APART:
        asked = (MAX_TOKENS,) if bound == MAX_TOKENS else ()
    return [amounts[limit] for limit in asked if limit in amounts and amounts[limit].spent]


#: The limits that a state's own criterion asks about.
_OWN: Mapping[str, tuple[str, ...]] = {
    "TruncationCriterion": (
        "max_tokens",
        "max_continuations",
        "max_total_completion_tokens",
        "max_total_output_chars",
        "max_tool_repair_attempts",
    ),
    "EnvelopeCriterion": ("schema_rounds",),
    "ErrorPolicyCriterion": ("max_retries",),
}


def _hopeless(case: Case, said: Json) -> bool:
    """Whether no number of tries would have helped, as the evaluation says."""
    if said["criterion"] == "EnvelopeCriterion":
        return bound_of(said, case.snapshot.outcome if case.snapshot else None) not in ("schema_rounds", *APART)
    if said["criterion"] == "ErrorPolicyCriterion":
        return not _retries(case)
    return False


def _retries(case: Case) -> bool:
    """Whether more failures would have been retried. Rules before revision 5 do not record it: the snapshot and its
    policy tell, and where they are not known, it is not claimed."""
    said = case.context("ErrorPolicyCriterion")
    if "bound" in said or (case.snapshot and names_bounds(case.snapshot)):
        return bool(said.get("bound") == "max_retries")
    if case.snapshot is None or no_retry_helps(case.snapshot):
        return False
    if case.snapshot.failure is not None and case.snapshot.failure.unresolved:
        return False  # its resolver failed: the policy was not asked
    configured = getattr(case.snapshot.error_policy, f"on_{said.get('errorType')}_error", None)
    return bool(configured == ErrorHandlingDecision.RETRY)


def _stubborn_in(case: Case, said: Json, limits: list[Amount]) -> list[str]:
    """Who of this evaluation forbade for another cause than a limit."""
    name = str(said["criterion"])
    if said["context"].get("bound") == CUT_BELOW_CAP:
        return ["the context window, or a limit of the server's own,"]
    if said["context"].get("bound") == MAX_TOKENS and not limits:
        return [f"{limit_in_words('max_tokens')}, of which no value is recorded,"]
    stubborn = [] if limits else [criterion_in_words(name)]
    if name != "TruncationCriterion" or case.source is not State.CONTINUE_PENDING:
        return stubborn
    if said["context"].get("bound") == "repetition" or (case.snapshot and case.snapshot.idle_answers >= IDLE):
        return [idle_in_words(case.snapshot) if case.snapshot else REPEATED]
    return stubborn if case.snapshot else [*stubborn, "possibly another cause"]
