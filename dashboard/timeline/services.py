"""What is done to many turns at once. Each batch is one transaction, and leaves a `BulkAction`: who did what to which.

Erasing whole turns is one of two services that may delete history; the other is `retention`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.gateway.models import StrayCall
from dashboard.live import conversation_queue
from dashboard.live.models import Signal
from dashboard.timeline.erase_flag import erasing
from dashboard.timeline.models import BulkAction
from dashboard.timeline.node_cleanup import loosen, nodes_sweep
from dashboard.timeline.signals import turns_leave
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.id_range import id_range_of
from dashboard.turns.models import (
    UNFINISHED,
    Attempt,
    AttemptChunk,
    Checkpoint,
    ClientRequest,
    Record,
    StrayOutcome,
    ToolClaim,
    Turn,
    TurnMessage,
)
from dashboard.turns.seals.tombstones import turns_erased
from dashboard.turns.tags import MOST_TAGS, tags_clean
from dashboard.turns.turn_query import find

BATCH = 500  #: turns of one transaction
#: All that carries a turn's id.
HISTORY = (
    Record, StrayOutcome, AttemptChunk, Attempt, TurnMessage, ClientRequest, Checkpoint, ToolClaim, Signal, StrayCall
)  # fmt: skip

Chosen = Sequence[UUID] | TimelineFilters  #: turns by id, or all that the filters let through

TAG = """
UPDATE turns_turn SET tags = (
    SELECT coalesce(array_agg(tag ORDER BY place), '{}') FROM (
        SELECT tag, min(place) AS place FROM unnest(tags || %(add)s::text[]) WITH ORDINALITY given (tag, place)
         WHERE tag <> ALL(%(remove)s::text[]) GROUP BY tag) kept)
 WHERE project_id = %(project)s AND id = ANY(%(ids)s::uuid[])
   AND (NOT tags @> %(add)s::text[] OR tags && %(remove)s::text[])
RETURNING id, cardinality(tags)
"""


def turns_tag(
    *, project: Project, chosen: Chosen, by: User, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> int:
    """Tag turns, take tags off them; returns how many turns have changed. A tag in both is taken off.

    Raises `ValidationError` in words; batches before the one that could not be done stay done.
    """
    added, removed = tags_clean(add), tags_clean(remove)
    audit = BulkAction(project=project, kind=BulkAction.Kind.TAG, by=by.get_username())
    audit.added, audit.removed = list(added), list(removed)
    return _each_batch(chosen, audit, lambda ids: _tag(project, ids, added, removed))


def turns_erase(*, project: Project, chosen: Chosen, by: User) -> int:
    """Erase turns and all that was recorded of them, for good; returns how many. A turn that has not ended stays: its
    driver is still writing. A turn forked from an erased one stays too, with what it began from."""
    audit = BulkAction(project=project, kind=BulkAction.Kind.ERASE, by=by.get_username())
    erased = _each_batch(chosen, audit, lambda ids: _erase(project, ids, audit.by))
    nodes_sweep()
    return erased


def _each_batch(chosen: Chosen, audit: BulkAction, act: Callable[[Sequence[UUID]], list[UUID]]) -> int:
    """`act` is given ids and returns those of the turns it changed, which are then audited."""
    audit.filter = chosen.as_dict() if isinstance(chosen, TimelineFilters) else None
    changed = 0
    for ids in _batches(audit.project, chosen):
        with transaction.atomic():
            if done := act(ids):
                _audit(audit, done)
                changed += len(done)
    return changed


def _batches(project: Project, chosen: Chosen) -> Iterator[Sequence[UUID]]:
    """Newest first. Each batch begins below the one before, so what an action hides from the filters skips nothing."""
    if not isinstance(chosen, TimelineFilters):
        yield from (chosen[start : start + BATCH] for start in range(0, len(chosen), BATCH))
        return
    reach = id_range_of(chosen)
    while found := find(project=project, filters=chosen, reach=reach, limit=BATCH):
        yield [turn_id for turn_id, _ in found]
        reach = replace(reach, high=found[-1][0])


def _audit(audit: BulkAction, turn_ids: list[UUID]) -> None:
    said = {name: getattr(audit, name) for name in ("project", "kind", "by", "filter", "added", "removed")}
    BulkAction.objects.create(**said, turn_ids=turn_ids)


def _tag(project: Project, ids: Sequence[UUID], add: Sequence[str], remove: Sequence[str]) -> list[UUID]:
    values: dict[str, Any] = {"project": project.pk, "ids": list(ids), "remove": list(remove)}
    _hold(Turn.objects.filter(project=project, id__in=ids))
    with connection.cursor() as cursor:
        cursor.execute(TAG, {**values, "add": [tag for tag in add if tag not in remove]})
        changed = cursor.fetchall()
    if any(tags > MOST_TAGS for _, tags in changed):
        raise ValidationError(f"A turn has at most {MOST_TAGS} tags; some of these would have more.")
    return [turn_id for turn_id, _ in changed]


def _erase(project: Project, ids: Sequence[UUID], by: str) -> list[UUID]:
    ended = Q(project=project, id__in=ids) & ~Q(status__in=UNFINISHED)
    # With their forks, which are told that what they began from is gone.
    held = _hold(Turn.objects.filter(ended | Q(parent__in=ids)))
    found = list(Turn.objects.filter(ended, id__in=held).values_list("id", "conversation"))
    erased = [turn_id for turn_id, _ in found]
    with erasing():
        loosen(erased)
        turns_leave.send(sender=Turn, turn_ids=erased)
        for model in HISTORY:
            model.objects.filter(turn_id__in=erased).delete()
        Turn.objects.filter(id__in=erased).delete()
    turns_erased(erased, by=by)
    conversation_queue.mend(conversation for _, conversation in found if conversation is not None)
    return erased


def _hold(turns: QuerySet[Turn]) -> list[UUID]:
    """The ids of these, whose rows nobody else changes until the transaction ends.

    In order: of two who hold many, the second waits at the first they share, and neither has what the other wants.
    """
    return list(turns.select_for_update(no_key=True).order_by("id").values_list("id", flat=True))
