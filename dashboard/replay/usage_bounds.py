"""An upper bound of a re-run's tokens and price: every call its limits allow, each at its cap."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agentcore.argument_validation import LARGEST_NUMBER
from agentcore.error_policy import ErrorHandlingDecision
from agentcore.messages import TokenUsage
from agentcore.policy import DEFAULT_COMPLETION_CALLS, Policy
from dashboard.agents.policies import overridden, stored_policy
from dashboard.agents.policy_validation import HANDLING_KEYS
from dashboard.turns.history import first_attempt, request_body_of
from dashboard.turns.models import Turn
from dashboard.turns.prices.selectors import turn_rate

HINT_TOKENS = 100  #: of what is said to have an answer continued; more than it takes
CORRECTIVE_TOKENS = 1_000  #: of what is said to have a structured answer mended
TAKEN_OVER = 1  #: calls that are given again where a worker dies


@dataclass(frozen=True, slots=True)
class UsageBound:
    """An upper bound. `dollars`: at list prices; None where the price is not known, tools return part of the input, or
    no max_tokens is sent, so that nothing bounds the output: then the tokens are what Whystop calculates with."""

    calls: int
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def usage(self) -> TokenUsage:
        return TokenUsage(self.input_tokens, self.output_tokens)


def usage_bound(turn: Turn, overrides: Mapping[str, Any]) -> UsageBound:
    """Of a re-run of this turn from its start. What tools would return is not known: of an agent that has
    some, only the calls and the output tokens are bounds."""
    policy, setup = overridden(stored_policy(turn.policy), overrides), _setup_of(turn)
    envelope, tools = setup.get("envelope_schema") is not None, bool(setup.get("tools"))
    calls, cap = _calls(policy, envelope=envelope, tools=tools), _cap(turn, policy, envelope=envelope)
    uncapped = (policy.max_tokens or turn.max_tokens) is None
    said = _said(policy, calls, cap, several=envelope or tools, uncapped=uncapped)
    asked = CORRECTIVE_TOKENS if envelope else HINT_TOKENS
    first = _first_input(turn)
    came = _sent(calls, first=first, cap=cap, said=said, asked=asked)
    rate = turn_rate(turn)
    if rate is None or tools or uncapped or max(came, said) > LARGEST_NUMBER:
        return UsageBound(calls, min(came, LARGEST_NUMBER), min(said, LARGEST_NUMBER), None)
    return UsageBound(calls, came, said, rate.dollars(TokenUsage(came, said)))


def _sent(calls: int, *, first: int, cap: int, said: int, asked: int) -> int:
    """Input tokens of all calls: each is sent all that was said before it. `calls` may be millions."""
    growing = min(calls, said // max(1, cap) + 1)  # before all was said that may be
    before = cap * growing * (growing - 1) // 2 + (calls - growing) * said
    return calls * first + asked * calls * (calls - 1) // 2 + before


def _setup_of(turn: Turn) -> dict[str, Any]:
    """What the turn was asked with; a fork's is in the snapshot that it began from."""
    setup: dict[str, Any] = turn.setup.get("setup") or (turn.base_snapshot or {}).get("setup") or {}
    return setup


def _said(policy: Policy, calls: int, cap: int, *, several: bool, uncapped: bool) -> int:
    """Output tokens. The total of a policy bounds them where no call is made again after an error; there is none by
    default where no max_tokens is sent (`uncapped`). `several`: it bounds none, for a turn has more than one answer."""
    total = policy.limits.max_total_completion_tokens or (None if uncapped else DEFAULT_COMPLETION_CALLS * cap)
    if total is None or several or _retries(policy) or policy.criterion_specs:
        return calls * cap
    return min(calls * cap, max(total, cap) + TAKEN_OVER * cap)


def _calls(policy: Policy, *, envelope: bool, tools: bool) -> int:
    limits = policy.limits
    # A model may call a tool that it was not given, and be asked for the call again.
    of_an_answer = 1 + limits.max_continuations + limits.max_tool_repair_attempts
    rounds = 1 + limits.schema_rounds if envelope else 1
    # Only a tool that was called and a criterion from outside ask for another iteration.
    iterations = limits.max_steps if policy.criterion_specs or tools else 1
    return iterations * rounds * of_an_answer * (1 + _retries(policy)) + TAKEN_OVER


def _retries(policy: Policy) -> int:
    """How often in a row a call that failed may be made again. Where errors are ignored only the steps bound it."""
    handled = {getattr(policy.error_policy, key) for key in HANDLING_KEYS}
    ignored = policy.limits.max_steps if ErrorHandlingDecision.IGNORE in handled else 0
    allowed = max(0, policy.error_policy.max_retries - 1)  # the failure with that number is not retried
    return max(ignored, allowed if handled != {ErrorHandlingDecision.STOP} else 0)


def _cap(turn: Turn, policy: Policy, *, envelope: bool) -> int:
    """Tokens that one call may ask for. An envelope that was cut asks for more each time, up to the ceiling."""
    asked = policy.max_tokens or turn.max_tokens or _setup_of(turn)["max_tokens"]
    if not envelope:
        return asked
    grown = asked * policy.limits.truncation_budget_multiplier**policy.limits.schema_rounds
    ceiling = _setup_of(turn).get("ceiling")
    return int(min(grown, ceiling)) + 1 if ceiling else int(grown) + 1


def _first_input(turn: Turn) -> int:
    """Tokens that the first call was sent: as reported, else no more than its bytes."""
    first = first_attempt(turn.id, "usage", "request")
    if first is None:
        return len(turn.input_text.encode("utf-8", "surrogatepass")) + HINT_TOKENS
    reported = (first.usage or {}).get("input_tokens")
    return int(reported) if reported else len(request_body_of(first))
