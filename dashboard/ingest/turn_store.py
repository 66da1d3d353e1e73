"""Writes the turns of traces: new ones, ones whose trace has grown, and deletes those that are no longer there.

A turn that comes to the same as before is left as it is. One that is written anew keeps its id, its tags, its comments
and its re-runs.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db.models import Q
from pydantic_core import to_json

from agentcore import serial
from dashboard.gateway.recording.complete_turns import TurnStore
from dashboard.gateway.recording.row_text import row_text
from dashboard.gateway.recording.rows import listed
from dashboard.ingest.assembly.implied_policy import told as policy_told
from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.assembly.turn_grouping import TurnCalls
from dashboard.ingest.models import Ingested
from dashboard.ingest.recorder_parts import part_of
from dashboard.platform.fields import storable_text
from dashboard.timeline.erase_flag import erasing
from dashboard.timeline.node_cleanup import loosen
from dashboard.timeline.services import HISTORY
from dashboard.turns.comments.models import Comment
from dashboard.turns.models import Turn
from dashboard.turns.row_mapping import Columns
from dashboard.turns.seals.models import Chain
from dashboard.turns.seals.tombstones import turns_erased

DIGESTED = ("spans", "instrumentations", "service", "provider", "loop", "loop_reason", "notes")
_COLUMNS = ", ".join(str(field.column) for field in Ingested._meta.concrete_fields)
INSERT = f"""
INSERT INTO ingest_ingested ({_COLUMNS})
SELECT {_COLUMNS} FROM json_populate_recordset(null::ingest_ingested, $1::json)
"""  # noqa: S608 - made of constants
MOST_REASON = 200  #: characters
BY = "the ingest: more of the trace has come"
RUNS = """
UPDATE turns_turn SET run_id = given.run, follows = given.follows
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) given (id, run, follows) WHERE turns_turn.id = given.id
"""


@dataclass(slots=True)
class _Kept:
    """What people have added to turns that are written anew."""

    tags: dict[UUID, list[str]] = field(default_factory=dict)
    comments: list[Comment] = field(default_factory=list)
    children: dict[UUID, UUID] = field(default_factory=dict)


def turns_hold(project_id: UUID, sender: UUID, traces: Collection[UUID]) -> None:
    """Hold the turns of these traces with their re-runs, and their chains, until the caller's transaction ends.

    For whoever calls `turns_put` several times in one transaction: each call holds its own turns, so two of them may
    hold turns in another order than who erases or seals, and one would be ended as a deadlock.
    """
    known = Ingested.objects.filter(project_id=project_id, sender=sender, trace__in=traces)
    ids = list(known.values_list("turn_id", flat=True))
    turns = Turn.objects.filter(Q(id__in=ids) | Q(parent__in=ids)).order_by("id")
    list(turns.select_for_update(no_key=True).values_list("id", flat=True))
    chains = Chain.objects.filter(turn_id__in=ids).order_by("turn_id")
    list(chains.select_for_update().values_list("turn_id", flat=True))


def turns_put(
    project_id: UUID,
    sender: UUID,
    made: Mapping[UUID, Sequence[TraceTurn]],
    store: TurnStore,
    *,
    by: int | None,
    at: datetime,
    log: str = "",
    extents: Mapping[UUID, Sequence[Any]] = MappingProxyType({}),
) -> list[UUID]:
    """Let these be all the turns of these traces; the ids of those that were written. In the caller's transaction.

    `store`: of that transaction; the turns are stored once its block ends. `log`: the name of the file that they are
    read from; empty: they came as spans. `extents`: of each trace, how much is told of it, where it may be told in
    several ways."""
    store.wait()
    about = {"project_id": project_id, "sender": sender, "log": storable_text(log), "ingested_at": at}
    wanted = {
        one.id: {**about, "extent": list(extents.get(trace, ())), **_row(trace, one)}
        for trace, turns in made.items()
        for one in turns
    }
    known = Ingested.objects.filter(project_id=project_id, sender=sender, trace__in=list(made))
    rows = known.values_list("turn_id", "digest", "extent")
    before = {turn_id: bytes(digest) for turn_id, digest, _ in rows}
    changed = [turn_id for turn_id, digest in before.items() if _differs(wanted.get(turn_id), digest)]
    _tell_more(wanted, {turn_id: extent for turn_id, _, extent in rows if turn_id not in changed})
    kept = _kept(changed)
    _take_back(changed)
    there = _there_otherwise(wanted.keys() - before.keys())
    new = wanted.keys() - (before.keys() - set(changed)) - there
    fresh = [one for turns in made.values() for one in turns if one.id in new]
    store.store((one.id, part_of(one, project_id, by)) for one in fresh)
    _insert(store, [wanted[one.id] for one in fresh])
    _link(store, fresh)
    if changed:
        store.wait()
        _give_back(kept, {one.id for one in fresh})
    return [one.id for one in fresh]


def _there_otherwise(turn_ids: Collection[UUID]) -> set[UUID]:
    """Turns that are here by another way: exported, erased and imported again. They stay as they are."""
    return set(Turn.objects.filter(id__in=turn_ids).values_list("id", flat=True)) if turn_ids else set()


def _tell_more(wanted: Mapping[UUID, Columns], same: Mapping[UUID, Sequence[Any]]) -> None:
    """How much is told of turns that stay the same, so that an older copy replaces none of them."""
    told = [(turn_id, wanted[turn_id]["extent"]) for turn_id, extent in same.items()]
    rows = [Ingested(turn_id=turn_id, extent=extent) for turn_id, extent in told if extent != same[turn_id]]
    Ingested.objects.bulk_update(rows, ["extent"])


def _differs(row: Columns | None, digest: bytes) -> bool:
    return row is None or row["digest"] != _written(digest)


def _row(trace: UUID, made: TraceTurn) -> Columns:
    """The columns of `Ingested`, but for those that the request tells."""
    turn = made.history.turn
    first, loop = turn.steps[0].call, turn.loop
    row = {
        "turn_id": made.id,
        "trace": trace,
        "spans": [span for step in turn.steps for span in step.call.spans],
        "instrumentations": list(dict.fromkeys(scope for step in turn.steps for scope in step.call.scopes)),
        "service": storable_text(first.span.service),
        "provider": "" if first.provider_guessed else storable_text(first.provider),
        "loop": storable_text(loop.name) if loop else "",
        "loop_reason": storable_text(told) if (told := _loop_reason(turn)) else None,
        "policy": policy_told(turn, made.history.policy),
        "notes": [asdict(note) for note in made.notes],
    }
    return {**row, "digest": _written(_digest(row, made))}


def _loop_reason(turn: TurnCalls) -> str:
    """The loop's own word; else the name of the exception that ended it, or what that says."""
    word, failure = turn.loop.word if turn.loop else None, turn.failure
    return word or (failure.name or failure.message[:MOST_REASON] if failure is not None else "")


def _digest(row: Columns, made: TraceTurn) -> bytes:
    """Of all that is stored of the turn, but for when it came."""
    events = [serial.event_to_json(told.event) for told in made.history.told]
    about = [row[name] for name in DIGESTED]
    said = [events, serial.to_json(made.history.policy), about, str(made.root), str(made.follows)]
    return hashlib.blake2b(_json(said), digest_size=16).digest()


def _json(said: Any) -> bytes:
    try:
        return to_json(said, inf_nan_mode="strings")
    except ValueError:  # half a character, which an answer may end with; it has no UTF-8
        return json.dumps(said).encode()


def _written(digest: bytes) -> str:
    """Bytes as Postgres reads them from a text."""
    return f"\\x{digest.hex()}"


def _insert(store: TurnStore, rows: Sequence[Columns]) -> None:
    if rows:
        store.send(INSERT, [listed(row_text(Ingested, row) for row in rows).decode()])


def _take_back(turn_ids: Sequence[UUID]) -> None:
    if not turn_ids:
        return
    sealed = list(Chain.objects.filter(turn_id__in=turn_ids).values_list("turn_id", flat=True))
    with erasing():
        loosen(turn_ids)
        for model in HISTORY:
            model.objects.filter(turn_id__in=turn_ids).delete()
        Turn.objects.filter(id__in=turn_ids).delete()
    turns_erased(sealed, by=BY)


def _kept(turn_ids: Sequence[UUID]) -> _Kept:
    if not turn_ids:
        return _Kept()
    turns = Turn.objects.filter(id__in=turn_ids).select_for_update(no_key=True).order_by("id")
    tags = {turn_id: tags for turn_id, tags in turns.values_list("id", "tags") if tags}
    children = dict(Turn.objects.filter(parent__in=turn_ids).values_list("id", "parent_id"))
    return _Kept(tags, list(Comment.objects.filter(turn_id__in=turn_ids)), children)


def _give_back(kept: _Kept, written: set[UUID]) -> None:
    """To turns that are there again. What was said of one that is no more goes with it."""
    for turn_id, tags in kept.tags.items():
        Turn.objects.filter(id=turn_id).update(tags=tags)
    Comment.objects.bulk_create([comment for comment in kept.comments if comment.turn_id in written])
    for child, parent in kept.children.items():
        if parent in written:
            Turn.objects.filter(id=child).update(parent=parent)


def _link(store: TurnStore, fresh: Iterable[TraceTurn]) -> None:
    """The turns of a trace are a run, which is named by the first of them."""
    later = [one for one in fresh if one.root != one.id]
    if not later:
        return
    store.send(RUNS, [[one.id for one in later], [one.root for one in later], [one.follows for one in later]])
