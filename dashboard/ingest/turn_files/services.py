"""Writes: a turn from a file.

Also holds the rows of an imported turn. Outcomes are derived from its transitions, as when a turn is recorded.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import DataError, connection, transaction
from django.utils import timezone

from agentcore.events import Started
from dashboard.accounts.models import User
from dashboard.agents.models import Agent
from dashboard.agents.selectors import project_current
from dashboard.ingest.turn_files import file_schema
from dashboard.ingest.turn_files.contradictions import INTO_THE_FUTURE, file_doubt
from dashboard.ingest.turn_files.file_export import turn_file
from dashboard.ingest.turn_files.file_reader import digest_of, read_file
from dashboard.ingest.turn_files.file_schema import TurnFile
from dashboard.ingest.turn_files.file_signature import signed_by
from dashboard.ingest.turn_files.models import Origin
from dashboard.ingest.turn_files.replayed_judgement import ReplayedTurn, doubt_of, judge
from dashboard.platform.fields import storable_text
from dashboard.platform.ids import UUID_OF_TIME, first_id_at, new_id
from dashboard.platform.notifications import announce_created
from dashboard.tools.selectors import wire_name_of
from dashboard.turns import models
from dashboard.turns.comments.models import Comment
from dashboard.turns.history import request_body_of, sha256_of
from dashboard.turns.record_compression import packed_columns
from dashboard.turns.recorder import say
from dashboard.turns.row_mapping import judged_column
from dashboard.turns.turn_documents import documents_add, documents_clean
from dashboard.turns.verification import verification_of

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


UNVERIFIED = "{doubt}. It can still be imported; its page then says that the replay differs."


@dataclass(frozen=True, slots=True)
class Import:
    """`fresh` is false where the very same turn was here already; then nothing was stored. `doubt`: why it does not
    verify, empty where it does; `missing`: what of one that does could not be compared."""

    turn: models.Turn
    fresh: bool
    doubt: str
    missing: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        return not self.doubt


def turn_import(*, content: bytes, by: User | None = None, unverified: bool = False) -> Import:
    """Store the turn of a file, judged again from its records; or find it, if it is here already.

    Raises `ValidationError` by field and in words, and then nothing is stored: where this is no turn file, where its
    history is none, and, unless `unverified`, where the history does not verify.
    """
    file = read_file(content)
    judged = judge(file.turn)
    try:
        with transaction.atomic():
            made = _found_or_stored(file, judged, by)
            if made.doubt and not unverified:
                raise ValidationError({"turn.records": UNVERIFIED.format(doubt=made.doubt.rstrip("."))})
            return made
    except (DataError, ValueError) as error:
        raise ValidationError("This file has a value that the database does not accept.") from error


def _found_or_stored(file: TurnFile, judged: ReplayedTurn, by: User | None) -> Import:
    with connection.cursor() as cursor:  # two imports of one file at once: the second finds the first
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int(file.sha256[:15], 16)])
    found = _found(file)
    if found is not None:
        doubt, missing = _verified(found)
        return Import(found, False, doubt, missing)
    turn = _stored(file, judged, by)
    doubt, missing = _verified(turn)
    doubt = doubt or judged.doubt or file_doubt(file, judged.recording)
    doubt = _remember(turn, file, by, doubt).speaks_against
    transaction.on_commit(lambda: announce_created(turn.id))
    return Import(turn, True, doubt, missing)


def _verified(turn: models.Turn) -> tuple[str, tuple[str, ...]]:
    """Why the stored turn does not verify, and what of one that does could not be compared: the same as *Verify*."""
    found = verification_of(models.Turn.objects.get(id=turn.id))
    return doubt_of(found), found.missing


def _found(file: TurnFile) -> models.Turn | None:
    """In the current project; what another has of it is nothing to this one."""
    project = project_current()
    origin = Origin.objects.filter(sha256=file.sha256, turn__project=project).select_related("turn").first()
    if origin is not None:
        return origin.turn
    ended = models.Turn.objects.filter(project=project).exclude(status__in=models.UNFINISHED)
    same_id = ended.filter(id=file.id).first()
    same = same_id is not None and digest_of(turn_file(same_id)["turn"]) == file.sha256
    return same_id if same else None


def _stored(file: TurnFile, judged: ReplayedTurn, by: User | None) -> models.Turn:
    said, project = file.turn, project_current()
    turn = models.Turn(
        id=_id_for(file.id),
        project=project,
        agent=_agent(said, judged),
        agent_name=said.agent,
        provider=said.provider,
        input_text=said.input_text,
        policy=said.policy,
        overrides=said.overrides,
        setup=said.setup,
        breakpoints=said.breakpoints,
        parent=models.Turn.objects.filter(id=said.parent_id, project=project).first() if said.parent_id else None,
        forked_at=said.forked_at,
        base_snapshot=said.base_snapshot,
        tags=list(dict.fromkeys(file.notes.tags)),
        raw_removed_at=file.notes.raw_removed_at,
        created_by=by,
        **{"model": said.model, "max_tokens": said.max_tokens, **judged.columns},
    )
    turn.save(force_insert=True)
    models.Turn.objects.filter(id=turn.id).update(created_at=said.created_at)
    store_history(turn, file, judged)
    return turn


def _remember(turn: models.Turn, file: TurnFile, by: User | None, doubt: str) -> Origin:
    proved = signed_by(file)
    return Origin.objects.create(
        turn=turn,
        original_id=file.id,
        sha256=file.sha256,
        exported_at=file.exported_at,
        core_version=file.core_version,
        imported_at=timezone.now(),
        imported_by=by,
        signature=proved.signature,
        public_key=proved.public_key,
        installation=proved.installation,
        doubt=storable_text(doubt),
        told=_told(file),
    )


def _agent(said: file_schema.Turn, judged: ReplayedTurn) -> Agent | None:
    """The agent of this name and dialect. A re-run may call what its beginning names: so none that was not given all
    of these tools here."""
    named = Agent.objects.filter(project=project_current(), name=said.agent)
    agent = named.filter(connection__provider=said.provider).first()
    if agent is None:
        return None
    given = {wire_name_of(name) for name in agent.tools}
    return agent if _tools(said, judged) <= given else None


def _tools(said: file_schema.Turn, judged: ReplayedTurn) -> set[str]:
    started = (record.event.setup for record in judged.recording.records if isinstance(record.event, Started))
    setups = (judged.recording.base_snapshot.setup, *started)
    begun = {tool["name"] for tool in said.setup.get("setup", {}).get("tools", ())}
    return begun | {tool.name for setup in setups if setup for tool in setup.tools}


def _told(file: TurnFile) -> dict[str, Any]:
    parent, policy = file.turn.parent_id, file.notes.policy
    return {"parent_id": str(parent) if parent else None, "policy": policy.model_dump() if policy else None}


def _id_for(wanted: UUID) -> UUID:
    """The file's id, where it is free and tells a time that has been; the timeline is ordered by ids."""
    latest = first_id_at(timezone.now() + INTO_THE_FUTURE)
    usable = wanted.version == UUID_OF_TIME and wanted < latest
    return wanted if usable and not models.Turn.objects.filter(id=wanted).exists() else new_id()
