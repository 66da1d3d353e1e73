"""Turns that their recordings do not decide, decided by live re-runs that completed."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from agentcore.errors import CoreError
from agentcore.replay import Certainty, Experience, Recording
from dashboard.platform.provided import Provided
from dashboard.policies.backtests.recording_loader import TurnRow
from dashboard.policies.backtests.tallies import TurnVerdict
from dashboard.policies.backtests.turn_judgement import DraftPolicy, judge_by_rerun
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.shared_values import UNREADABLE


@dataclass(frozen=True, slots=True)
class CompletedRerun:
    """`repeats`: whether its provider said the same as in the turn that it runs again, as far as is known."""

    turn: Turn
    repeats: bool


#: The completed re-runs that were asked the same as a turn, those first that tell most of it.
CompletedReruns = Callable[[UUID], Iterable[CompletedRerun]]
completed_reruns = Provided[CompletedReruns]("the completed re-runs of a turn")


def run_again(ids: Collection[UUID]) -> set[UUID]:
    """Those of these turns that have re-runs: most have none, and nothing more is read of them."""
    again = Turn.objects.filter(parent_id__in=ids).order_by().values_list("parent_id", flat=True)
    return {parent for parent in again.distinct() if parent is not None}


def proven(
    told: TurnRow, recording: Recording | None, draft: DraftPolicy, *, experience: Experience
) -> TurnVerdict | None:
    """How the turn ends under the draft by the first re-run that proves it, else by the first that makes it likely;
    None where none does."""
    if recording is None or not recording.records:
        return None
    likely: TurnVerdict | None = None
    for again in completed_reruns.value(told.id):
        found = _by(told, recording, draft, again, experience)
        if found is not None and found.certainty == Certainty.CERTAIN:
            return replace(found, rerun=str(again.turn.id))
        if found is not None and likely is None:
            likely = replace(found, rerun=str(again.turn.id))
    return likely


def _by(
    told: TurnRow, recording: Recording, draft: DraftPolicy, again: CompletedRerun, experience: Experience
) -> TurnVerdict | None:
    try:
        read = recording_of(again.turn)
    except (CoreError, *UNREADABLE):  # another version of the core wrote it
        return None
    return judge_by_rerun(told, recording, draft, read, repeats=again.repeats, experience=experience)
