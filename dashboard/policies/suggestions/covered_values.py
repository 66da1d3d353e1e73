"""Values of a swept limit that nobody ran, and that a live re-run shows: its own recording answers them."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from django.core.exceptions import ValidationError

from agentcore.replay import Certainty
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.replay.suggested_value import MeasuredValue
from dashboard.replay.sweep_point import Point
from dashboard.replay.sweep_result import Sweep
from dashboard.replay.sweep_service import SweepRun, TooMuchWork, run_of
from dashboard.turns.models import Turn


def with_covered(found: Sweep, said: Iterable[Suggestion], measured: tuple[MeasuredValue, ...]) -> Sweep:
    """The sweep, with the values that the smallest re-run that was enough covers. `said`: what the turn's page tells;
    `measured`: every re-run, also outside the range that is swept.

    A limit that is only an upper bound ends no call that did not reach it: under every value that leaves the calls of
    the re-run as they were, it is as proven as the re-run. Where a call would have been requested otherwise, with
    another `max_tokens`, and where another run may take longer, it is likely.
    """
    run = min((each for each in measured if each.is_enough), key=lambda it: (not it.proven, it.value), default=None)
    if run is None:
        return found
    named = [int(each.value) for each in said if each.limit == found.name and each.rerun == run.rerun]
    covered = {each.value: each for each in _covered(found, measured, run, min([run.value, *named]))}
    known = {point.value: point for point in found.known}
    known |= {value: each.as_run(known[value]) for value, each in covered.items()}
    points = tuple(known[point.value] for point in found.points)
    return replace(found, points=points, known=tuple(known.values()), covered=tuple(covered.values()))


def _covered(
    found: Sweep, measured: tuple[MeasuredValue, ...], run: MeasuredValue, enough: int
) -> Iterable[MeasuredValue]:
    """`enough`: the smallest value that the turn's page names by this re-run, or what that was given."""
    ran = {each.value for each in measured if each in found.measured or not each.is_enough}
    unsure = [p for p in found.known if p.value not in ran and p.certainty.rank >= Certainty.ESTIMATED.rank]
    if found.name == "max_seconds":  # more time ends nothing
        yield from (replace(run, value=p.value, varies=True) for p in unsure if p.undecidable and p.value >= enough)
        return
    turn = Turn.objects.select_related("agent__connection", "project").get(pk=run.rerun)
    with suppress(ValidationError, TooMuchWork):  # what is not evaluated stays as the turn's recording has it
        again = run_of(turn=turn, name=found.name, overrides={})
        yield from (shown for p in unsure if (shown := _shown(again, run, p, enough)) is not None)


def _shown(again: SweepRun, run: MeasuredValue, point: Point, enough: int) -> MeasuredValue | None:
    judged = again.at(point.value)
    if not judged.is_enough:
        return None
    if run.proven and judged.certainty is Certainty.RECORDED:
        return replace(run, value=point.value)
    likely = point.undecidable and point.value >= enough
    return replace(run, value=point.value, varies=True) if likely else None
