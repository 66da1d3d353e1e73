"""What other turns of the agent, or of the model, tell of a limit: how much of it they used."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from agentcore.replay import Certainty
from agentcore.values import replace
from dashboard.policies.backtests.answer_lengths import ENOUGH, newest_alike
from dashboard.policies.backtests.survival import LEAST_ENDED, Length, estimate
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.limit_usage import SCALE, UsageOf, alike
from dashboard.policies.suggestions.suggestion import Basis, Evidence, Lack, Number, Suggestion, Usual
from dashboard.policies.suggestions.used_amounts import USED
from dashboard.replay.services import turn_experience
from dashboard.replay.sweep_point import margin_of


def usual_limit(case: ExhaustedLimit, usage: UsageOf) -> Suggestion | Evidence:
    """What the answers of the same agent and model need that are longer than this one is known to be, or those of the
    same model. A turn that was cut is seldom one of the short ones, so the share of all answers would be too good.
    Where these tell nothing, what there is of them, and what it lacks."""
    scale, beyond = SCALE.get(case.limit, 1), _beyond(case)
    least = max(beyond * scale, _own_milliseconds(case))
    counted, lacks, usual = _counted(case), Evidence(Lack.FEW), None
    for basis, filters in zip((Basis.AGENT, Basis.MODEL), alike(case.turn), strict=True):
        lengths = usage(turn=case.turn, limit=case.counted, filters=filters)
        longer = [length for length in lengths if length.tokens > least]
        newest = newest_alike(longer)
        names = (case.turn.agent_name if basis is Basis.AGENT else case.turn.model, basis, counted)
        usual = usual or _usual([length for length in longer if length.ended], scale, names)
        curve = estimate(newest)
        of = names[0]
        length, share = curve.expected(ENOUGH)
        lacks = Evidence(
            Lack.STOPPED if curve.ended >= LEAST_ENDED else Lack.FEW, curve.ended, curve.cut, of, basis, counted, usual
        )
        if length is None:
            continue
        unreported = unreported_by(case)
        if unreported is None or _too_many_characters(case, length):
            return replace(lacks, lack=Lack.UNREPORTED if unreported is None else Lack.CHARACTERS)
        value = math.ceil(length / scale) + max(unreported, margin_of(case.limit))
        if case.ceiling is not None and value > case.ceiling:
            return replace(lacks, lack=Lack.CEILING)
        told = (value, case.recorded, Certainty.ESTIMATED, basis, case.goal)
        about: dict[str, Any] = {"share": share, "answers": curve.count, "cut": curve.cut, "longer_than": beyond}
        within, cut_earlier = curve.counts_at((value - unreported) * scale)
        about |= {"within": within, "cut_earlier": cut_earlier, "counted": counted}
        about |= {"usual": usual, "newest": len(newest) < len(longer), "unreported": unreported}
        return Suggestion(case.limit, *told, of=of, noun=basis, **about)
    return lacks


def _usual(lengths: Sequence[Length], scale: int, names: tuple[str, str, str]) -> Usual | None:
    used, output = [length.tokens / scale for length in lengths], [length.output or length.tokens for length in lengths]
    if not used:
        return None
    of, noun, counted = names
    return Usual(median(used), max(used), len(used), of, noun, counted, round(median(output)))


def _counted(case: ExhaustedLimit) -> str:
    if case.limit != "max_tokens":
        return "turn"
    return "answer" if case.counted == case.limit else "tool-call response"


def finished_sooner(case: ExhaustedLimit, usage: UsageOf) -> dict[str, Any]:
    """Of time, what the completed turns tell that took no longer than this one: it may complete as soon when it is run
    again. Empty where there are none."""
    if case.limit != "max_seconds":
        return {}
    scale, beyond = SCALE[case.limit], _beyond(case)
    names = {"agent": case.turn.agent_name, "model": case.turn.model}
    for (noun, of), filters in zip(names.items(), alike(case.turn), strict=True):
        lengths = usage(turn=case.turn, limit=case.limit, filters=filters)
        ended = [length.tokens for length in lengths if length.ended and length.tokens <= beyond * scale]
        if ended:
            return {"of": of, "noun": noun, "answers": len(ended), "sooner": math.ceil(10 * max(ended) / scale) / 10}
    return {}


def _own_milliseconds(case: ExhaustedLimit) -> int:
    """How long the turn itself took, which is more than its calls took; 0 where the limit is not the time."""
    return case.turn.took_ms or 0 if case.limit == "max_seconds" else 0


def _beyond(case: ExhaustedLimit) -> Number:
    """What the turn is known to need more than. Time is compared by tenths of a second: most turns take few of them."""
    if case.limit != "max_seconds":
        return max(case.used, case.in_vain)
    tenths = math.floor(10 * max(USED["max_seconds"](case.last), case.in_vain))
    return tenths // 10 if tenths % 10 == 0 else tenths / 10


def unreported_by(case: ExhaustedLimit) -> int | None:
    """Tokens that count towards the limit of an answer and not towards its recorded length, as the model's stored calls
    bear out. None: there are some, and too few calls show how many."""
    if case.limit != "max_tokens":
        return 0
    known = turn_experience(case.turn)
    if known.unreported is not None:
        return math.ceil(known.unreported.p95)
    return None if known.reports_all is False else 0


def _too_many_characters(case: ExhaustedLimit, tokens: Number) -> bool:
    """Whether so many tokens are more text than the turn may have, at as many characters a token as it had so far."""
    used = case.last.spent.output_tokens
    if case.limit != "max_tokens" or not used:
        return False
    return tokens * case.last.spent.output_chars / used > case.last.limits.max_total_output_chars
