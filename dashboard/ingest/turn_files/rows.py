"""The rows of an imported turn. Outcomes are derived from its transitions, as when a turn is recorded."""

import json
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ValidationError

from dashboard.ingest.turn_files import file_schema
from dashboard.ingest.turn_files.replayed_judgement import ReplayedTurn
from dashboard.turns import models
from dashboard.turns.comments.models import Comment
from dashboard.turns.history import request_body_of, sha256_of
from dashboard.turns.record_compression import packed_columns
from dashboard.turns.recorder import say
from dashboard.turns.row_mapping import judged_column
from dashboard.turns.turn_documents import documents_add, documents_clean

BATCH = 500


def store_history(turn: models.Turn, file: file_schema.TurnFile, judged: ReplayedTurn) -> None:
    """All rows but the turn's own, in the caller's transaction. Raises `ValidationError` by field."""
    said = file.turn
    models.Record.objects.bulk_create(_records(turn, said, judged), batch_size=BATCH)
    if messages := list(_messages(said)):
        say(turn, messages)
    models.Attempt.objects.bulk_create(_attempts(turn, said), batch_size=BATCH)
    models.AttemptChunk.objects.bulk_create(_chunks(turn, said), batch_size=BATCH)
    documents_add(turn=turn, documents=documents_clean([document.model_dump() for document in said.documents]))
    Comment.objects.bulk_create(_comments(turn, file.notes.comments))


def _records(turn: models.Turn, said: file_schema.Turn, judged: ReplayedTurn) -> Iterator[models.Record]:
    for row, record in zip(said.records, judged.recording.records, strict=True):
        columns = packed_columns(row.model_dump())
        yield models.Record(turn_id=turn.id, judged=judged_column(record), **columns)


def _messages(said: file_schema.Turn) -> Iterator[str]:
    for n, wire in enumerate(said.messages):
        _read(wire, f"turn.messages.{n}")
        yield wire


def _attempts(turn: models.Turn, said: file_schema.Turn) -> Iterator[models.Attempt]:
    for n, attempt in enumerate(said.attempts):
        row = models.Attempt(turn_id=turn.id, **attempt.model_dump(exclude={"chunks"}))
        _check_request(row, said.messages, f"turn.attempts.{n}.request")
        yield row


def _check_request(row: models.Attempt, messages: list[str], place: str) -> None:
    """The body that was sent is made again from its parts, and its digest says whether it is the one."""
    if not isinstance(_read(row.request, place), dict):
        raise ValidationError({place: "It must be an object."})
    try:
        rebuilt = sha256_of(request_body_of(row, messages))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValidationError({place: "The request cannot be rebuilt."}) from error
    if rebuilt != row.request_sha256:
        raise ValidationError({place: "The request is not the one that was sent: its hash differs."})


def _read(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValidationError({place: "It is not JSON."}) from error


def _chunks(turn: models.Turn, said: file_schema.Turn) -> Iterator[models.AttemptChunk]:
    for attempt in said.attempts:
        for n, chunk in enumerate(attempt.chunks, start=1):
            yield models.AttemptChunk(turn_id=turn.id, attempt=attempt.index, n=n, **chunk.model_dump())


def _comments(turn: models.Turn, said: list[file_schema.Comment]) -> list[Comment]:
    return [
        Comment(turn=turn, author_name=one.author, imported=True, **one.model_dump(exclude={"author"})) for one in said
    ]
