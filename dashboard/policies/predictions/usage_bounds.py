"""An upper bound of a re-run's tokens and price: every call its limits allow, each at its cap."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agentcore.error_policy import ErrorHandlingDecision
from agentcore.messages import TokenUsage
from agentcore.policy import Policy
from dashboard.agents.policies import overridden, stored_policy
from dashboard.agents.policy_validation import HANDLING_KEYS
from dashboard.turns.history import request_body_of
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.prices.selectors import turn_rate

HINT_TOKENS = 100  #: of what is said to have an answer continued; more than it takes
CORRECTIVE_TOKENS = 1_000  #: of what is said to have a structured answer mended
TAKEN_OVER = 1  #: calls that are given again where a worker dies


@dataclass(frozen=True, slots=True)
class UsageBound:
    """An upper bound. `dollars`: at list prices; None where the price is not known."""

    calls: int
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


def usage_bound(turn: Turn, overrides: Mapping[str, Any]) -> UsageBound:
    """Of a re-run of this turn from its start. Its agent has no tools: what these would give back is not known."""
    policy = overridden(stored_policy(turn.policy), overrides)
    envelope = (turn.setup.get("setup") or {}).get("envelope_schema") is not None
    calls, cap = _calls(policy, envelope=envelope), _cap(turn, policy, envelope=envelope)
    said = _said(policy, calls, cap, envelope=envelope)
    asked = CORRECTIVE_TOKENS if envelope else HINT_TOKENS
    first = _first_input(turn)
    # Each call is sent all that was said before it.
    came = sum(first + min(said, call * cap) + call * asked for call in range(calls))
    rate = turn_rate(turn)
    dollars = None if rate is None else rate.dollars(TokenUsage(came, said))
    return UsageBound(calls, came, said, dollars)


def _said(policy: Policy, calls: int, cap: int, *, envelope: bool) -> int:
    """Output tokens. The total of a policy bounds them where no call is made again after an error."""
    if envelope or _retries(policy) or policy.criterion_specs:
        return calls * cap
    total = policy.limits.max_total_completion_tokens or 4 * cap
    return min(calls * cap, max(total, cap) + TAKEN_OVER * cap)


def _calls(policy: Policy, *, envelope: bool) -> int:
    limits = policy.limits
    # A model may call a tool that it was not given, and be asked for the call again.
    of_an_answer = 1 + limits.max_continuations + limits.max_tool_repair_attempts
    rounds = 1 + limits.schema_rounds if envelope else 1
    # Only a criterion from outside asks for another iteration where no tool was called.
    iterations = limits.max_steps if policy.criterion_specs else 1
    return iterations * rounds * of_an_answer * (1 + _retries(policy)) + TAKEN_OVER


def _retries(policy: Policy) -> int:
    """How often in a row a call that failed may be made again. Where errors are ignored only the steps bound it."""
    handled = {getattr(policy.error_policy, key) for key in HANDLING_KEYS}
    ignored = policy.limits.max_steps if ErrorHandlingDecision.IGNORE in handled else 0
    return max(ignored, policy.error_policy.max_retries if handled != {ErrorHandlingDecision.STOP} else 0)


def _cap(turn: Turn, policy: Policy, *, envelope: bool) -> int:
    """Tokens that one call may ask for. An envelope that was cut asks for more each time, up to the ceiling."""
    asked = policy.max_tokens or turn.max_tokens
    if not envelope:
        return asked
    grown = asked * policy.limits.truncation_budget_multiplier**policy.limits.schema_rounds
    ceiling = (turn.setup.get("setup") or {}).get("ceiling")
    return int(min(grown, ceiling)) + 1 if ceiling else int(grown) + 1


def _first_input(turn: Turn) -> int:
    """Tokens that the first call was sent: as reported, else no more than its bytes."""
    first = Attempt.objects.filter(turn_id=turn.id).order_by("index").first()
    if first is None:
        return len(turn.input_text.encode("utf-8", "surrogatepass")) + HINT_TOKENS
    reported = (first.usage or {}).get("input_tokens")
    return int(reported) if reported else len(request_body_of(first))
