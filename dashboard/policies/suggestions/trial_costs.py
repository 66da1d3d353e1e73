"""What a live try of a suggested value costs, in figures and in words."""

from collections.abc import Iterable
from typing import Any

from agentcore.messages import TokenUsage
from agentcore.number_format import count, number
from agentcore.resource import APPROVAL_SECONDS
from agentcore.values import replace
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.reruns import LimitTrial
from dashboard.policies.suggestions.suggestion import Costs, Goal, Number, Suggestion
from dashboard.replay.usage_bounds import usage_bound
from dashboard.turns.models import Turn
from dashboard.turns.prices.rates import priced
from dashboard.turns.prices.selectors import turn_rate
from dashboard.turns.prices.templatetags.prices import money

NEAR = 2  #: times the value, or a part of it: a re-run so near tells what a try of the value takes


def costs_of(case: ExhaustedLimit, found: Suggestion, reruns: Iterable[LimitTrial] = ()) -> Costs | None:
    """What a live try of the value is likely to take, what it takes where it uses all of the value, and at most. None
    where it cannot be tried: no re-run has another person. `reruns`: those that tried the limit."""
    if found.limit == APPROVAL_SECONDS:
        return None
    turn, rate = case.turn, turn_rate(case.turn)
    if found.goal is Goal.NO_REPAIR:  # about what it used: it calls its tools again
        filled = TokenUsage(turn.input_tokens, turn.output_tokens)
    else:
        filled = _using(case, max(1, found.value))
    most = usage_bound(turn, found.overrides)
    filled = replace(filled, output_tokens=min(filled.output_tokens, most.output_tokens))  # another limit may be nearer
    likely, about = _likely(case, found, filled, _rerun_near(found, reruns))
    likely = replace(likely, output_tokens=min(likely.output_tokens, most.output_tokens))
    most_price = None if most.dollars is None else priced(rate, [most.usage], estimated=True)
    price, filled_price = (priced(rate, [usage], estimated=True) for usage in (likely, filled))
    known = (likely.output_tokens, price, most.output_tokens, most_price, filled.output_tokens, filled_price)
    return Costs(*known, **about)


def _using(case: ExhaustedLimit, amount: Number) -> TokenUsage:
    """Of so much of the limit: one call of so many tokens, else all calls in proportion to what the turn used."""
    turn = case.turn
    if case.limit == "max_tokens":
        return TokenUsage(turn.input_tokens // max(1, turn.attempts), int(amount))
    grown = amount / max(1, case.used)
    return TokenUsage(round(turn.input_tokens * grown), round(turn.output_tokens * grown))


def _likely(
    case: ExhaustedLimit, found: Suggestion, filled: TokenUsage, run: Turn | None
) -> tuple[TokenUsage, dict[str, Any]]:
    """What the re-run took in all its calls, else as the recording shows it, else as other turns used, else no less
    than this turn used."""
    if run is not None:
        return TokenUsage(run.input_tokens, run.output_tokens), {}
    if found.goal is Goal.NO_REPAIR:
        return filled, {}
    if found.used:
        return replace(filled, output_tokens=found.used), {}
    usual = found.usual or (found.evidence.usual if found.evidence else None)
    if usual is None:
        return replace(filled, output_tokens=case.turn.output_tokens), {"is_least": True}
    used = _using(case, usual.median)
    come, said = min(used.input_tokens, filled.input_tokens), min(used.output_tokens, filled.output_tokens)
    return TokenUsage(come, said), {"usual": usual}


def _rerun_near(found: Suggestion, reruns: Iterable[LimitTrial]) -> Turn | None:
    """The re-run that shows the value; else the newest of those that completed nearest to it, and near enough."""
    done = [tried for tried in reversed((*reruns,)) if tried.completed]
    own = next((tried.turn for tried in done if tried.turn.id == found.rerun), None)
    near = [tried for tried in done if tried.value <= NEAR * found.value and found.value <= NEAR * tried.value]
    nearest = min(near, key=lambda tried: abs(tried.value - found.value), default=None)
    return own or (nearest.turn if nearest else None)


def costs_in_words(costs: Costs | None, *, model: str = "") -> str:
    """`About 378 output tokens (≈ $0.0002); at most 1,890 (≈ $0.001) with all allowed calls`; `model`: the one
    that would be asked."""
    if costs is None:
        return ""
    if not costs.output_tokens:  # the turn that it is told of said nothing
        return f"at most {count(costs.most_tokens, 'output token')} ({money(costs.most_price, model)}){_IF_ALL}"
    sign = "from" if costs.is_least else "about"
    about, most = f"{sign} {count(costs.output_tokens, 'output token')}", f"at most {number(costs.most_tokens)}"
    if costs.most_tokens <= costs.output_tokens:
        return f"{about} ({money(costs.price, model)})"
    if costs.price is None:
        return f"{about} ({money(None, model)}){_by(costs)}; {most}{_IF_ALL}"
    most_price = money(costs.most_price, model) if costs.most_price else "and what tools return"
    return f"{about} ({money(costs.price, model)}){_by(costs)}; {most} ({most_price}){_IF_ALL}"


def _by(costs: Costs) -> str:
    """What the number is taken from, where no re-run and no recording shows it."""
    if costs.is_least:
        return ", what this turn used"
    if costs.usual is None:
        return ""
    kind = "completed turn" if costs.usual.counted == "turn" else f"longer {costs.usual.counted}"
    return f", by the median of {count(costs.usual.turns, kind)} of {costs.usual.noun} {costs.usual.of}"


_IF_ALL = " with all allowed calls"
