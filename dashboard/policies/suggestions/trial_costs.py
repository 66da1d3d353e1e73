"""What a live try of a suggested value costs, in figures and in words."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from agentcore.messages import TokenUsage
from agentcore.number_format import count, number
from agentcore.resource import APPROVAL_SECONDS
from agentcore.values import replace
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.reruns import LimitTrial
from dashboard.policies.suggestions.suggestion import Costs, Goal, Suggestion
from dashboard.replay.usage_bounds import UsageBound, usage_bound
from dashboard.turns.models import Turn
from dashboard.turns.prices.rates import priced
from dashboard.turns.prices.selectors import turn_rate
from dashboard.turns.prices.templatetags.prices import money

OUTPUT_LIMITS = ("max_tokens", "max_total_completion_tokens")  #: those that count output tokens
NEAR = 2  #: times the value, or a part of it: a re-run so near tells what a try of the value takes


def costs_of(case: ExhaustedLimit, found: Suggestion, reruns: Iterable[LimitTrial] = ()) -> Costs | None:
    """What a live try of the value is likely to take, what it takes where it uses all of the value, and at most. None
    where it cannot be tried: no re-run has another person. `reruns`: those that tried the limit."""
    if found.limit == APPROVAL_SECONDS:
        return None
    turn, rate = case.turn, turn_rate(case.turn)
    most = usage_bound(turn, found.overrides)
    filled = _as_usage(case, _filled(case, found, most), most)
    tried = (*reruns,)
    run = _rerun_near(found, tried)
    output, about = _likely(case, found, filled.output_tokens, _most_in_vain(tried))
    likely = _as_usage(case, output, most) if run is None else TokenUsage(run.input_tokens, run.output_tokens)
    likely = replace(likely, output_tokens=min(likely.output_tokens, most.output_tokens))
    most_price = None if most.dollars is None else priced(rate, [most.usage], estimated=True)
    price, filled_price = (priced(rate, [usage], estimated=True) for usage in (likely, filled))
    known = (likely.output_tokens, price, most.output_tokens, most_price, filled.output_tokens, filled_price)
    return Costs(*known, **(about if run is None else {}))


def _filled(case: ExhaustedLimit, found: Suggestion, most: UsageBound) -> int:
    """Output tokens where all of the value is used: of a limit that counts something else, as many as may come."""
    if found.goal is Goal.NO_REPAIR:  # about what it used: it calls its tools again
        return min(case.turn.output_tokens, most.output_tokens)
    counted = case.limit in OUTPUT_LIMITS
    return min(max(1, math.ceil(found.value)), most.output_tokens) if counted else most.output_tokens


def _likely(case: ExhaustedLimit, found: Suggestion, filled: int, in_vain: int) -> tuple[int, dict[str, Any]]:
    """The output tokens as the recording shows them, else those of other turns that used more of the limit, else no
    less than this turn used, or a re-run that was not enough (`in_vain`)."""
    if found.goal is Goal.NO_REPAIR:
        return filled, {}
    if found.used:
        return found.used, {}
    usual = found.usual or (found.evidence.usual if found.evidence else None)
    if usual is not None and case.limit == case.counted == "max_tokens":  # one call gives the whole answer
        return min(math.ceil(usual.median), filled), {"usual": usual}
    least = max(case.turn.output_tokens, in_vain)
    if usual is None or usual.output <= least:
        return least, {"is_least": True, "by_rerun": in_vain > case.turn.output_tokens}
    return usual.output, {"usual": usual}


def _most_in_vain(reruns: Iterable[LimitTrial]) -> int:
    """The most output tokens that a re-run used which was not enough."""
    return max((tried.turn.output_tokens for tried in reruns if tried.in_vain and not tried.is_original), default=0)


def _as_usage(case: ExhaustedLimit, output: int, most: UsageBound) -> TokenUsage:
    """With the input that so many output tokens take: of a larger cap, one call; else what this turn took, and all that
    was said before each further call again."""
    turn = case.turn
    each, cap = turn.input_tokens // max(1, turn.attempts), max(1, turn.max_tokens or output)
    further = max(0, math.ceil((output - turn.output_tokens) / cap)) if case.limit != "max_tokens" else 0
    in_one = case.limit == "max_tokens" and case.last.iteration <= 1
    come = each if in_one else turn.input_tokens + further * (each + output)
    return TokenUsage(come if most.dollars is None else min(come, most.input_tokens), output)


def _rerun_near(found: Suggestion, reruns: Sequence[LimitTrial]) -> Turn | None:
    """The re-run that shows the value; else the newest of those that completed nearest to it, and near enough."""
    done = [tried for tried in reversed(reruns) if tried.completed]
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
        return ", what a re-run used that was not enough" if costs.by_rerun else ", what this turn used"
    if costs.usual is None:
        return ""
    kind = "completed turn" if costs.usual.counted == "turn" else f"longer {costs.usual.counted}"
    of_turns = "the turns with " if costs.usual.counted == "tool-call response" else ""
    return f", by the median of {of_turns}{count(costs.usual.turns, kind)} of {costs.usual.noun} {costs.usual.of}"


_IF_ALL = " with all allowed calls"
