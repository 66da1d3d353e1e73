"""What calls send to the recorder: new turns, answer chunks, updates and results, with their columns."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import models as orm

from agentcore.events import Started
from agentcore.values import quickly_made
from dashboard.gateway.recording.statements import columns_of
from dashboard.gateway.routing import ResolvedPolicy
from dashboard.platform.fields import storable_text
from dashboard.turns import models
from dashboard.turns.row_mapping import Columns, StepRows


@quickly_made
@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn that has begun, and how it was asked: the columns of its row and of its call."""

    id: UUID
    project_id: UUID
    agent_id: UUID | None
    agent_name: str
    provider: str
    model: str
    max_tokens: int | None  #: of the first call; None: none is sent
    input_text: str
    started: Started  #: the first event; its setup and messages are the row's `setup`
    ruling: ResolvedPolicy  #: policy, its sources and its version
    body: bytes  #: the client's request, verbatim
    created_at: datetime
    created_by_id: int | None
    caller: str  #: the key's or token's name
    key_id: UUID | None
    mode: str
    stream: bool
    n: int
    legacy: bool = False  #: it offered functions, not tools
    by_items: bool = False  #: the client's messages are items of the Responses API, some of which it may only name


@quickly_made
@dataclass(frozen=True, slots=True)
class CallerResult:
    """What the caller was told in the end."""

    status: int
    finish_reason: str | None
    source: str  #: of the reason: a `ReasonSighting.source`, or `machine`
    continued: bool
    disconnected: bool
    overhead_us: int
    answer_id: str | None = None  #: by which the caller may ask for the answer again


@dataclass(slots=True)
class AnswerChunk:
    """Bytes of an answer as they came, one after the other, and the text in them."""

    attempt: int
    at: datetime  #: of the last of them
    raws: list[bytes]
    texts: list[str]


@dataclass(slots=True)
class TurnUpdate:
    """What has been said of a turn since its last part was written."""

    since: float  #: seconds, the loop's
    new: NewTurn | None = None
    entries: list[StepRows] = field(default_factory=list)
    pieces: list[AnswerChunk] = field(default_factory=list)
    told: CallerResult | None = None
    size: int = 0  #: bytes, about
    waiting: "list[tuple[float, asyncio.Future[None]]]" = field(default_factory=list)  #: since when who waits for it

    @property
    def has_only_pieces(self) -> bool:
        return not (self.new or self.entries or self.told)


def new_columns(new: NewTurn, setup: Any) -> Columns:
    """The columns a step does not change. Its first record has the messages that the turn was started with."""
    return {
        **defaults(models.Turn),
        "project_id": new.project_id,
        "agent_id": new.agent_id,
        "agent_name": new.agent_name,
        "provider": new.provider,
        "input_text": storable_text(new.input_text),
        "setup": {"setup": setup},
        "policy_version_id": new.ruling.version_id,
        "keep_raw_days": new.ruling.keep_raw_days,
        "created_at": new.created_at,
        "created_by_id": new.created_by_id,
    }


def call_columns(new: NewTurn) -> Columns:
    """What the turn's row has of the call that it answers."""
    return {
        "call_key_id": new.key_id,
        "call_caller": new.caller,
        "call_mode": new.mode,
        "call_stream": new.stream,
        "call_n": new.n,
        **_NOT_ENDED,
    }


def result_columns(told: CallerResult) -> Columns:
    """What it has of the call's end."""
    return {
        "call_status": told.status,
        "call_client_finish_reason": told.finish_reason,
        "call_finish_source": told.source,
        "call_continued": told.continued,
        "call_disconnected": told.disconnected,
        "call_overhead_us": told.overhead_us,
        "call_answer_id": told.answer_id,
    }


#: The same columns of a call that has not ended.
_NOT_ENDED: Columns = {
    **dict.fromkeys(result_columns(CallerResult(0, None, "", continued=False, disconnected=False, overhead_us=0))),
    "call_finish_source": "",
    "call_continued": False,
    "call_disconnected": False,
}


@cache
def defaults(model: type[orm.Model]) -> Columns:
    """What columns are that nobody speaks of. Not among them: what is made anew each time, an id, and what is null."""
    fields = {field.column: field for field in model._meta.concrete_fields}
    empty = {name: fields[name].get_default() for name in columns_of(model) if not fields[name].primary_key}
    return {name: value for name, value in empty.items() if value is not None}
