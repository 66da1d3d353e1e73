"""Output of `manage.py calibrate`: the plan, each turn as it ends, and the summary."""

from collections.abc import Container, Iterable, Sequence
from decimal import Decimal
from typing import Any, TextIO

from agentcore.replay import Certainty
from dashboard.policies.predictions import record_text
from dashboard.policies.predictions.calibration_state import Budget, Used, trials_of
from dashboard.policies.predictions.models import Calibration, Prediction
from dashboard.policies.predictions.selectors import Tally, tallies_of
from dashboard.policies.predictions.suggested_record import SuggestedTally, suggested_of_calibration, tally_told
from dashboard.policies.predictions.trials import Trial
from dashboard.policies.suggestions.suggestion import Goal
from dashboard.replay.usage_bounds import UsageBound
from dashboard.turns.prices.templatetags.prices import dollars_in_words, no_price
from dashboard.turns.selectors import turns_on_simulator

AGAIN = "To continue, run the command again with the same options"
OVER = {
    "budget": f"Stopped: the next re-run could exceed the budget. {AGAIN} and a larger budget.",
    "stopped": f"Stopped. {AGAIN}.",
    "unanswered": f"Stopped: the provider answered no call of the last re-runs. {AGAIN} once it answers.",
}


def plan_lines(calibration: Calibration, *, resumed: bool, used: Used, budget: Budget) -> Iterable[str]:
    """Before the first call: what is asked, what that may cost at most, and within which budget."""
    trials = trials_of(calibration)
    places = set(calibration.predictions.filter(place__isnull=False).values_list("place", flat=True))
    begun = len(places)
    turns = len({trial.turn for trial in trials})
    yield f"{_counted(len(trials), 're-run')} of {_counted(turns, 'stored turn')} under other limits."
    certainties = [f"{word} {sum(trial.certainty == word for trial in trials)}" for word in Certainty]
    yield f"Predicted: {', '.join(certainties)}. Each is predicted again before it starts, from turns stored by then."
    for why, count in calibration.skipped.items():
        yield f"Left out {count:,}: {why}."
    if resumed:
        yield f"Continues an earlier run: {begun} of {len(trials)} re-runs were started, {used_words(used)}."
    yield f"Maximum: {_most(trials, places)}, if every call that the limits allow is made and reaches its cap."
    yield f"Budget: {budget_words(budget)}. No re-run starts that could exceed it."


def _most(trials: Sequence[Trial], begun: Container[int | None]) -> str:
    rest = [trial for place, trial in enumerate(trials) if place not in begun]
    paid = _paid_for(rest)
    known = [bound.dollars for bound in paid if bound.dollars is not None]
    if paid and len(known) == len(paid):
        priced = dollars_in_words(sum(known, Decimal(0))) + " at list prices"
    else:
        priced = no_price(simulated=not paid)
    return f"{sum(trial.bound.tokens for trial in rest):,} tokens ({priced})"


def _paid_for(trials: Sequence[Trial]) -> list[UsageBound]:
    """The bounds of those that are not of the simulator, which is free."""
    free = turns_on_simulator(trial.turn for trial in trials)
    return [trial.bound for trial in trials if trial.turn not in free]


def budget_words(budget: Budget) -> str:
    tokens = "any number of tokens" if budget.tokens is None else f"{budget.tokens:,} tokens"
    return tokens if budget.dollars is None else f"{tokens} and {dollars_in_words(budget.dollars)}"


def used_words(used: Used) -> str:
    spent = f", {dollars_in_words(used.dollars)}" if used.dollars else ""
    return f"{used.tokens:,} tokens{spent} used"


class Progress:
    """A line for each turn as it ends."""

    def __init__(self, out: TextIO, total: int) -> None:
        self._out, self._total = out, total

    def compared(self, place: int, trial: Trial, prediction: Prediction, used: Used) -> None:
        asked = f"{prediction.model}, {limits_words(trial.overrides)}"
        self._line(place, f"{asked}: {prediction.certainty}, {_came(prediction)}{_tried(prediction)}.", used)

    def skipped(self, place: int, trial: Trial, why: str) -> None:
        self._line(place, f"{limits_words(trial.overrides)}: not run. {why}", None)

    def _line(self, place: int, said: str, used: Used | None) -> None:
        tail = f" {used_words(used)[0].upper()}{used_words(used)[1:]}." if used else ""
        self._out.write(f"[{place + 1}/{self._total}] {said}{tail}\n")
        self._out.flush()


def limits_words(overrides: dict[str, Any]) -> str:
    """`max_tokens 88, max_continuations 0`."""
    flat = {name: value for name, value in overrides.items() if name != "limits"} | (overrides.get("limits") or {})
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in flat.items()
    )


def _came(prediction: Prediction) -> str:
    if prediction.not_compared:
        return f"not compared ({_why_not(prediction)})"
    if prediction.came_true:
        return "came true" if len(prediction.endings) == 1 else "ended in one of the two predicted ways"
    return f"failed ({'; '.join(map(record_text.difference_words, prediction.differences))})"


def _tried(prediction: Prediction) -> str:
    """What came of the suggested limit; empty where none was tried, or it was not compared."""
    if prediction.suggested_came_true is None:
        return ""
    enough, retried = prediction.suggested_came_true, prediction.suggested["goal"] == Goal.RETRY
    came = ("tried again" if enough else "not tried again") if retried else ("enough" if enough else "not enough")
    return f"; suggested limit ({prediction.suggested['word']}) {came}"


def _why_not(prediction: Prediction) -> str:
    why = record_text.NOT_COMPARED[prediction.not_compared]
    said = prediction.child.error_message if prediction.not_compared == Prediction.NotCompared.UNANSWERED else ""
    return f"{why}: {said.rstrip('.')}" if said else why


def table_lines(calibration: Calibration) -> Iterable[str]:
    """By certainty, then the ones that failed with both turns."""
    heads = ("certainty", "predictions", "came true", "failed", "not compared", "share")
    rows = [heads, *(_row(tally) for tally in tallies_of(calibration))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    for row in rows:
        first, *rest = zip(row, widths, strict=True)
        yield "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)]).rstrip()
    if any(0 < tally.compared < record_text.ENOUGH for tally in tallies_of(calibration)):
        yield f"A share is shown once there are {record_text.ENOUGH} comparisons."
    yield from _suggested_lines(calibration)
    for prediction in failed_of(calibration):
        yield f"{prediction.certainty}: {prediction.parent_id} → {prediction.child_id}, {_came(prediction)}."
        yield f"  {record_text.reason_words(prediction)}"


def _suggested_lines(calibration: Calibration) -> Iterable[str]:
    """Of the suggested limits that were tried, then the ones that were not enough with both turns."""
    for tally in suggested_of_calibration(calibration):
        yield f"Suggested limits: {tally.model}, {tally.word} {tally.source}: {_enough(tally)}."
    for prediction in calibration.predictions.filter(suggested_came_true=False).order_by("id"):
        said = f"{prediction.suggested['word']}: {prediction.parent_id} → {prediction.child_id}"
        yield f"{said}, {record_text.suggested_difference_words(prediction)}."
        yield f"  {record_text.suggested_reason_words(prediction)}"


def _enough(tally: SuggestedTally) -> str:
    if not tally.compared:
        return f"{tally.predictions:,} tried, none compared"
    expected = f"expected {tally.expected_share}" if tally.expected_share else ""
    shares = ", ".join(filter(None, (tally.share, expected)))
    promise = f": {tally.promise}" if tally.promise else ""
    return f"{tally.came_true:,} of {tally.compared:,} came true{promise}{f' ({shares})' if shares else ''}"


def _row(tally: Tally) -> tuple[str, ...]:
    counts = (tally.predictions, tally.came_true, tally.failed, tally.apart + tally.nothing)
    told = record_text.share(tally.came_true, tally.compared)
    return (tally.certainty.value, *(f"{count:,}" for count in counts), told or "–")


def failed_of(calibration: Calibration) -> list[Prediction]:
    return list(calibration.predictions.filter(came_true=False, place__isnull=False).order_by("place"))


def told(calibration: Calibration, used: Used, over: str) -> dict[str, Any]:
    """All of it, for programs."""
    return {
        "id": str(calibration.id),
        "finished": calibration.finished_at is not None,
        "stopped_by": over or None,
        "trials": len(calibration.trials),
        "begun": calibration.predictions.filter(place__isnull=False).count(),
        "tokens": used.tokens,
        "dollars": float(used.dollars),
        "left_out": calibration.skipped,
        "by_certainty": {tally.certainty.value: _counts(tally) for tally in tallies_of(calibration)},
        "suggested": [{"model": tally.model, **tally_told(tally)} for tally in suggested_of_calibration(calibration)],
        "failed": [_failed(prediction) for prediction in failed_of(calibration)],
    }


def _counts(tally: Tally) -> dict[str, int]:
    names = ("predictions", "came_true", "failed", "waiting", "nothing", "apart")
    return {name: getattr(tally, name) for name in names}


def _failed(prediction: Prediction) -> dict[str, Any]:
    return {
        "certainty": prediction.certainty,
        "parent_id": str(prediction.parent_id),
        "child_id": str(prediction.child_id),
        "overrides": prediction.overrides,
        "differences": prediction.differences,
        "reason": prediction.reason or None,
    }


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
