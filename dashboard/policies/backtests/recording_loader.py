"""Stored turns as recordings, in bulk: two queries for a batch, and of each record only what a what-if asks for."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Any, TypeVar
from uuid import UUID

import structlog
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from pydantic_core import from_json

from agentcore import serial
from agentcore.errors import RecordingError
from agentcore.policy import Policy
from agentcore.replay import Record, Recording
from agentcore.snapshot import Snapshot
from dashboard.agents.policies import stored_policy
from dashboard.platform.fields import MARK, exact_json
from dashboard.platform.replica import read_connection
from dashboard.turns.models import Turn
from dashboard.turns.record_compression import lines_of
from dashboard.turns.shared_values import UNREADABLE, Said, beginning, messages_of, rules_of

log = structlog.get_logger(__name__)

T = TypeVar("T")

BATCH = 250  #: turns
IDLE = Snapshot()

#: By the primary key, whose beginning is the partitions' too.
RECORDS = """
SELECT turn_id, seq, length, packed, CASE WHEN packed IS NULL THEN event::text END,
       CASE WHEN packed IS NULL THEN transitions::text END
  FROM turns_record WHERE turn_id = ANY(%(ids)s) AND turn_id BETWEEN %(low)s AND %(high)s ORDER BY turn_id, seq
"""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn's row, as far as judging it asks. `policy`, `base`, `sources` and `overrides` are JSON text; `base`: only
    of a fork; the last two only where they were asked for.
    """

    id: UUID
    provider: str
    model: str
    address: str | None
    started_at: datetime | None
    status: str
    terminal_reason: str | None
    model_stop_reason: str | None
    input_tokens: int
    output_tokens: int
    tokens_estimated: bool
    attempts: int
    policy: str
    base: str | None
    sources: str | None = None
    overrides: str | None = None


COLUMNS = (
    "id",
    "provider",
    "model",
    "agent__connection__base_url",
    "started_at",
    "status",
    "terminal_reason",
    "model_stop_reason",
    "input_tokens",
    "output_tokens",
    "tokens_estimated",
    "attempts",
    "policy_text",
    "base_text",
)
#: JSON columns that are read as text, and those of them that say whose words a turn ran under.
TEXTS = {"policy_text": "policy", "base_text": "base_snapshot"}
SOURCES = {"sources_text": "policy_sources", "overrides_text": "overrides"}


def batches(turns: QuerySet[Turn], *, sources: bool = False) -> Iterator[list[TurnRow]]:
    """The turns in the order of their ids, `BATCH` at a time; nothing is held open between two."""
    texts, columns = (TEXTS | SOURCES, (*COLUMNS, *SOURCES)) if sources else (TEXTS, COLUMNS)
    asked = turns.annotate(**{name: Cast(of, TextField()) for name, of in texts.items()}).order_by("id")
    last: UUID | None = None
    while True:
        rest = asked if last is None else asked.filter(id__gt=last)
        batch = [TurnRow(*row) for row in rest.values_list(*columns)[:BATCH]]
        if not batch:
            return
        yield batch
        last = batch[-1].id


def recordings(batch: list[TurnRow]) -> Iterator[tuple[TurnRow, Recording | None]]:
    """Each turn with its history; None for one that cannot be read, which is nothing to the turns beside it."""
    values: dict[str, Any] = {"ids": [told.id for told in batch], "low": batch[0].id, "high": batch[-1].id}
    with read_connection().cursor() as cursor:
        cursor.execute(RECORDS, values)
        rows = cursor.fetchall()
    whole = {told.id for told in batch if _asks_criteria(told)}
    events = [
        (turn_id, seq, *part)
        for turn_id, first, *row in rows
        for seq, part in enumerate(_parts(*row, judged=turn_id in whole), start=first)
    ]
    said = messages_of(event for _, seq, event, _ in events if seq == 1)
    histories = {turn_id: list(rows) for turn_id, rows in groupby(events, key=lambda row: row[0])}
    for told in batch:
        yield told, _recording(told, histories.get(told.id, []), said)


def _asks_criteria(told: TurnRow) -> bool:
    """Whether its policy has criteria of its own, whose answers stand in the transitions."""
    policy = own_policy(told)
    return policy is not None and bool(policy.criterion_specs)


def own_policy(told: TurnRow) -> Policy | None:
    """What the turn ran under; None where it cannot be read."""
    return _readable(told, lambda: policy_of(told.policy))


def _recording(told: TurnRow, history: list[tuple[Any, ...]], said: Said) -> Recording | None:
    def read() -> Recording:
        if any(row[1] != seq for seq, row in enumerate(history, start=1)):
            raise RecordingError("there is a gap in its sequence")
        return Recording(policy_of(told.policy), _base(told.base), tuple(_record(said, *row[1:]) for row in history))

    return _readable(told, read)


def _readable(told: TurnRow, read: Callable[[], T]) -> T | None:
    """What `read` makes of text that is at hand. Whatever it raises, the text is to blame: an older or a newer core
    wrote it, or it was damaged."""
    try:
        return read()
    except Exception as error:
        log.info("history_unreadable", turn=str(told.id), error=f"{type(error).__name__}: {error}")
        return None


@lru_cache(maxsize=256)
def policy_of(text: str) -> Policy:
    """Many turns have the very same policy."""
    return stored_policy(rules_of(exact_json(text), "policy"))


def _base(text: str | None) -> Snapshot:
    return IDLE if text is None else serial.snapshot_from_json(exact_json(text))


def _parts(length: int, packed: bytes | None, event: str, transitions: str, *, judged: bool) -> list[tuple[Any, Any]]:
    """Event and transitions of each record of a row, however it holds them; transitions only where asked for."""
    if packed is None:
        return [(_json(event), _json(transitions) if judged else ())]
    try:
        return [(_line(lines[0]), _line(lines[1]) if judged else ()) for lines, _ in lines_of(packed, length)]
    except UNREADABLE:
        return [({}, ())]  # whoever reads its turn finds no event


def _record(said: Said, seq: int, event: Any, transitions: Any) -> Record:
    return Record(seq, serial.event_from_json(beginning(event, said)), tuple(transitions))


def _line(text: bytes) -> Any:
    try:
        return from_json(text)
    except ValueError:  # a lone surrogate, or no JSON
        return json.loads(text)


def _json(text: str) -> Any:
    return exact_json(text) if MARK in text else from_json(text)
