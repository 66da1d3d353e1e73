"""A turn as one JSON object that imports elsewhere (docs/reference/turn-file.md)."""

import base64
import json
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone

from agentcore import VERSION as CORE_VERSION
from agentcore.states import State
from dashboard.ingest.turn_files.file_reader import MAX_BYTES, digest_of
from dashboard.ingest.turn_files.file_schema import FORMAT, VERSION
from dashboard.ingest.turn_files.file_signature import signed
from dashboard.ingest.turn_files.models import Origin
from dashboard.live.services import TurnConflict
from dashboard.turns import selectors
from dashboard.turns.history import begun_as, messages_of
from dashboard.turns.models import UNFINISHED, Attempt, Piece, Record, Turn
from dashboard.turns.origins import origin_in_file
from dashboard.turns.record_reader import records_of

Json = dict[str, Any]
#: Machine states of a history that came to its end; a turn that was given up stopped elsewhere.
ENDED = frozenset({State.COMPLETE.value, State.ABORT.value})
ATTEMPT_FIELDS = (
    "index", "kind", "iteration", "provider", "model", "max_tokens", "request", "request_sha256", "request_url",
    "status_code", "response_headers", "content_type", "stop_reason", "raw_stop_reason", "usage", "text", "tool_calls",
    "error", "first_token_ms", "duration_ms",
)  # fmt: skip
RECORD_FIELDS = ("seq", "event", "transitions", "command", "observed", "core_version")
#: Of `MAX_BYTES`, what raw answers may take: in base64 they grow by a third, and the rest wants room too.
MAX_RAW = MAX_BYTES // 2


def turn_file(turn: Turn) -> Json:
    """Everything of a turn that has ended. Raises `TurnConflict` while it runs, `ValidationError` if too large."""
    if turn.status in UNFINISHED:
        raise TurnConflict(f"This turn is {turn.status}; it can be exported once it has ended.")
    raws = Piece.objects.filter(turn_id=turn.id).values_list("raw", flat=True)
    raw = sum(map(len, raws.iterator(chunk_size=20)))
    if raw > MAX_RAW:
        raise ValidationError(f"The raw responses of this turn are {raw:,} bytes; at most {MAX_RAW:,} can be exported.")
    told, origin = origin_of(turn), origin_in_file(turn)
    happened = _happened(turn, told)
    return signed(
        {
            "format": FORMAT,
            "version": VERSION,
            "id": str(origin["original_id"] if origin else turn.id),
            "exported_at": _said(timezone.now()),
            "core_version": CORE_VERSION,
            "sha256": digest_of(happened),
            "turn": happened,
            "notes": _notes(turn, told),
            "origin": origin and {name: _plain(value) for name, value in origin.items()},
        }
    )


def file_text(file: Json) -> str:
    """The file's text: ASCII, so that whatever a model said goes through any editor and any wire."""
    return json.dumps(file, indent=1, allow_nan=False)


def origin_of(turn: Turn) -> Json:
    """What the file said that this turn came from; empty for a turn of this installation."""
    origin = Origin.objects.filter(turn=turn).first()
    return {} if origin is None else origin.told


def _happened(turn: Turn, told: Json) -> Json:
    return {
        "agent": turn.agent_name,
        "provider": turn.provider,
        "model": turn.model,
        "input_text": turn.input_text,
        "max_tokens": turn.max_tokens,
        "created_at": _said(turn.created_at),
        "policy": turn.policy,
        "overrides": turn.overrides,
        "setup": begun_as(turn),
        "breakpoints": turn.breakpoints,
        "parent_id": told.get("parent_id") or (str(turn.parent_id) if turn.parent_id else None),
        "forked_at": turn.forked_at,
        "base_snapshot": turn.base_snapshot,
        "gave_up": None if turn.state in ENDED else turn.error_message,
        "documents": [{"name": document.name, "text": document.text} for document in turn.documents.all()],
        "messages": messages_of(turn.id),
        "records": [_record(record) for record in records_of(turn.id)],
        "attempts": _attempts(turn),
    }


def _record(record: Record) -> Json:
    return {"at": _said(record.at), **{name: getattr(record, name) for name in RECORD_FIELDS}}


def _attempts(turn: Turn) -> list[Json]:
    chunks: dict[int, list[Json]] = defaultdict(list)
    for chunk in Piece.objects.filter(turn_id=turn.id).order_by("attempt", "n").iterator():
        raw = base64.b64encode(bytes(chunk.raw)).decode("ascii")
        chunks[chunk.attempt].append({"at": _said(chunk.at), "text": chunk.text, "raw": raw})
    return [_attempt(attempt, chunks[attempt.index]) for attempt in selectors.attempts_of(turn.id)]


def _attempt(attempt: Attempt, chunks: list[Json]) -> Json:
    columns = {name: getattr(attempt, name) for name in ATTEMPT_FIELDS}
    return {**columns, "started_at": _said(attempt.started_at), "chunks": chunks}


def _notes(turn: Turn, told: Json) -> Json:
    notes = {"policy": _policy_name(turn, told), "tags": list(turn.tags), "comments": _comments(turn)}
    return notes | ({"raw_removed_at": _said(turn.raw_removed_at)} if turn.raw_removed_at else {})


def _policy_name(turn: Turn, told: Json) -> Json | None:
    version = turn.policy_version
    if version is None:
        named: Json | None = told.get("policy")
        return named
    return {"name": version.policy.name, "version": version.version}


def _comments(turn: Turn) -> list[Json]:
    return [
        {
            "transition": comment.transition,
            "author": comment.author_name,
            "text": comment.text,
            "created_at": _said(comment.created_at),
            "edited_at": None if comment.edited_at is None else _said(comment.edited_at),
        }
        for comment in turn.comments.all()
    ]


def _plain(value: Any) -> str:
    return _said(value) if isinstance(value, datetime) else str(value)


def _said(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
