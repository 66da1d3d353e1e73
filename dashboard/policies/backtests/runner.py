"""Runs a backtest: plans its parts, judges each on whichever worker is free, and adds up the tallies.

A part is taken by an advisory lock of the database session, which the death of its holder gives back; what a part
found is stored when it is whole, so nothing is counted twice however often work begins anew.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from dashboard.platform.replica import late_since_now
from dashboard.policies.backtests.models import Backtest, Part
from dashboard.policies.backtests.proofs import proven, run_again
from dashboard.policies.backtests.recording_loader import batches, recordings
from dashboard.policies.backtests.tallies import Tally, added_up
from dashboard.policies.backtests.turn_judgement import DraftPolicy, judge
from dashboard.replay.experience import experience_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.selectors import traffic_matching

PART = 1_000  #: turns; a second's work or less
AT_ONCE = 20  #: parts that are planned by one query
#: The first number of a part's advisory lock, arbitrary and only ours; the second is the part's id.
LOCK = 726_043


def turns_of(backtest: Backtest) -> QuerySet[Turn]:
    """The turns it is tried on: those its filter lets through that have ended and have a history; no re-runs."""
    filters, _ = TimelineFilters.parse(backtest.filter)
    turns = traffic_matching(project=backtest.project, filters=filters)
    return turns.exclude(status__in=UNFINISHED).exclude(last_seq=0)


def plan(backtest_id: UUID) -> None:
    """Cut it into parts, once: planned again it stays as it is. While turns are looked for nothing is locked: how many
    there are so far can be seen, and it can be cancelled."""
    backtest = Backtest.objects.select_related("project").get(id=backtest_id)
    if backtest.status != Backtest.Status.QUEUED:
        return
    queued = Backtest.objects.filter(id=backtest_id, status=Backtest.Status.QUEUED)
    parts: list[Part] = []
    total = 0
    for ids in _looked_for(turns_of(backtest)):
        cuts = [ids[start : start + PART] for start in range(0, len(ids), PART)]
        parts += [Part(backtest=backtest, low=cut[0], high=cut[-1], total=len(cut)) for cut in cuts]
        total += len(ids)
        if not queued.update(total=total):
            return
    with transaction.atomic():
        if not queued.update(status=Backtest.Status.RUNNING, total=total):
            return
        Part.objects.bulk_create(parts)
    _finish_if_whole(backtest_id)


def _looked_for(turns: QuerySet[Turn]) -> Iterator[list[UUID]]:
    """Their ids in order, those of `AT_ONCE` parts at a time."""
    asked, last = turns.order_by("id").values_list("id", flat=True), UUID(int=0)
    while ids := list(asked.filter(id__gt=last)[: AT_ONCE * PART]):
        yield ids
        last = ids[-1]


def run(backtest_id: UUID) -> None:
    """All of it, here and now."""
    plan(backtest_id)
    work(backtest_id)


def work(backtest_id: UUID, stopped: Callable[[], bool] = lambda: False) -> int:
    """Judge parts until none is free, or `stopped` says so; returns how many turns that were."""
    backtest, judged = Backtest.objects.select_related("project", "stands_for").get(id=backtest_id), 0
    draft = DraftPolicy.of(backtest)
    while not stopped():
        with _a_part(backtest_id) as part:
            if part is None:
                # Who judged the last part may have died before it said so.
                _finish_if_whole(backtest_id)
                return judged
            tally = late_since_now(partial(_judged, backtest, part, draft, stopped))
            if tally is not None:
                _store(part, tally)
                judged += tally.total().turns
    return judged


@contextmanager
def _a_part(backtest_id: UUID) -> Iterator[Part | None]:
    """A part that is nobody's, as long as it is ours; None where there is none, or the backtest is over."""
    for part in Part.objects.filter(backtest_id=backtest_id, judged=False).order_by("id"):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK, part.pk])
            if cursor.fetchone() != (True,):
                continue
            try:
                # It may have been finished since the parts were read.
                if Part.objects.filter(pk=part.pk, judged=False, backtest__status=Backtest.Status.RUNNING).exists():
                    yield part
                    return
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK, part.pk])
    yield None


def _judged(backtest: Backtest, part: Part, draft: DraftPolicy, stopped: Callable[[], bool]) -> Tally | None:
    """What the turns of a part come to; None where judging was stopped, or the backtest is over."""
    tally = Tally()
    turns = turns_of(backtest).filter(id__gte=part.low, id__lte=part.high)
    for batch in batches(turns, sources=draft.asks_sources):
        again = run_again([told.id for told in batch])
        for told, recording in recordings(batch):
            known = experience_of(project=backtest.project, provider=told.provider, model=told.model)
            judged = judge(told, recording, draft, experience=known)
            if judged.word == "undecidable" and told.id in again:
                judged = proven(told, recording, draft, experience=known) or judged
            tally.count(told, judged)
        if stopped() or _is_over(backtest.id):
            return None
    return tally


def _is_over(backtest_id: UUID) -> bool:
    return not Backtest.objects.filter(id=backtest_id, status=Backtest.Status.RUNNING).exists()


def _store(part: Part, tally: Tally) -> None:
    """Add what a part found to what was found before. Turns may have ended, been tagged or been erased since the part
    was planned: what was judged is what there was, and the total follows."""
    with transaction.atomic():
        backtest = Backtest.objects.select_for_update().get(id=part.backtest_id)
        if not Part.objects.filter(pk=part.pk, judged=False).update(judged=True):
            return
        before = {name: getattr(backtest, name) for name in ("groups", "flips", "unended_turns", "undecided")}
        whole = added_up([before, tally.as_json()])
        total = backtest.total + tally.total().turns - part.total
        Backtest.objects.filter(id=backtest.id).update(**_columns(whole), total=total)
    _finish_if_whole(part.backtest_id)


def _columns(whole: Tally) -> dict[str, Any]:
    total, told = whole.total(), whole.as_json()
    return {
        "done": total.turns,
        "same": total.same,
        "flipped": total.flipped,
        "undecidable": total.undecidable,
        "recorded": total.recorded,
        "certain": total.certain,
        "estimated": total.estimated,
        "tokens_delta": total.tokens,
        "calls_delta": total.calls,
        "seconds_delta": total.seconds,
        "dollars_delta": total.dollars,
        "unpriced": total.unpriced,
        "flipped_turns": [flip["turn"] for flip in told["flips"]],
        **told,
    }


def _finish_if_whole(backtest_id: UUID) -> None:
    if not Part.objects.filter(backtest_id=backtest_id, judged=False).exists():
        running = Backtest.objects.filter(id=backtest_id, status=Backtest.Status.RUNNING)
        running.update(status=Backtest.Status.DONE, finished_at=timezone.now())
