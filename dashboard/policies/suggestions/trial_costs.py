"""What a live try of a suggested value costs, in figures and in words."""

from agentcore.messages import TokenUsage
from agentcore.number_format import count, number
from agentcore.resource import APPROVAL_SECONDS
from agentcore.values import replace
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.suggestion import Costs, Goal, Suggestion
from dashboard.replay.usage_bounds import usage_bound
from dashboard.turns.prices.rates import priced
from dashboard.turns.prices.selectors import turn_rate
from dashboard.turns.prices.templatetags.prices import money


def costs_of(case: ExhaustedLimit, found: Suggestion) -> Costs | None:
    """What a live try of the value takes: one call of so many tokens, or as much again as was used; and at most. None
    where it cannot be tried: no re-run has another person."""
    if found.limit == APPROVAL_SECONDS:
        return None
    turn, rate = case.turn, turn_rate(case.turn)
    first_in = turn.input_tokens // max(1, turn.attempts)
    if found.goal is Goal.NO_REPAIR:  # about what it used: it calls its tools again
        usage = TokenUsage(turn.input_tokens, turn.output_tokens)
    elif found.limit == "max_tokens":
        usage = TokenUsage(first_in, int(found.value))
    else:
        grown = max(1, int(found.value)) / max(1, case.used)
        usage = TokenUsage(round(turn.input_tokens * grown), round(turn.output_tokens * grown))
    most = usage_bound(turn, found.overrides)
    usage = replace(usage, output_tokens=min(usage.output_tokens, most.output_tokens))  # another limit may be nearer
    most_price = None if most.dollars is None else priced(rate, [most.usage], estimated=True)
    return Costs(usage.output_tokens, priced(rate, [usage], estimated=True), most.output_tokens, most_price)


def costs_in_words(costs: Costs | None, *, model: str = "") -> str:
    """`About 378 output tokens (≈ $0.0002); at most 1,890 (≈ $0.001) with all allowed calls`; `model`: the one
    that would be asked."""
    if costs is None:
        return ""
    if not costs.output_tokens:  # the turn that it is told of said nothing
        return f"at most {count(costs.most_tokens, 'output token')} ({money(costs.most_price, model)}){_IF_ALL}"
    about, most = f"about {count(costs.output_tokens, 'output token')}", f"at most {number(costs.most_tokens)}"
    if costs.most_tokens <= costs.output_tokens:
        return f"{about} ({money(costs.price, model)})"
    if costs.price is None:
        return f"{about} ({money(None, model)}); {most}{_IF_ALL}"
    most_price = money(costs.most_price, model) if costs.most_price else "and what tools return"
    return f"{about} ({money(costs.price, model)}); {most} ({most_price}){_IF_ALL}"


_IF_ALL = " with all allowed calls"
