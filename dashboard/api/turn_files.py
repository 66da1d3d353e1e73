"""A turn as a file, out and in; and what people say about it.

Also holds response schemas of imports.
"""

# ruff: noqa: ARG001 - every view is given its request

from dataclasses import asdict
from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router, Status
from ninja.errors import HttpError
from pydantic import BaseModel, Field

from dashboard.api import request_schemas, response_fields, turn_response_schemas
from dashboard.api.callers import caller
from dashboard.api.list_pages import PagedArray, items_array
from dashboard.ingest.turn_files.file_export import file_text, turn_file
from dashboard.ingest.turn_files.file_reader import MAX_BYTES, TOO_LARGE, beginning_check
from dashboard.ingest.turn_files.import_access import while_let_in
from dashboard.ingest.turn_files.import_runner import log_import_apart, turn_import_apart
from dashboard.platform.disconnects import client_of
from dashboard.turns import selectors
from dashboard.turns.comments import selectors as comments
from dashboard.turns.comments.services import comment_add
from dashboard.turns.origins import vouched_of


class LogFault(BaseModel):
    line: int = Field(
        description="The line number, from 1; for a list, the number of the element; 0 for the file as a whole."
    )
    words: str


class LogImported(BaseModel):
    """The result of importing a log, or of a dry run."""

    turns: int = Field(description="Turns that were stored, or replaced because their session has new calls.")
    here: int = Field(description="Turns that already existed. They were not stored again.")
    skipped: int = Field(description="Records that are not model calls.")
    refused: int = Field(description="Records that could not be read or stored.")
    faults: list[LogFault] = Field(
        description="Location and reason of the first hundred refused records. `manage.py import` lists all of them."
    )
    last: UUID | None = Field(description="The turn that was stored last.")


class Imported(BaseModel):
    id: UUID = Field(
        description="The id of the imported turn. It differs from the id in the file if another turn has that id."
    )
    already_here: bool = Field(description="The same turn already existed; nothing was stored.")
    verified: bool = Field(
        description="Whether its decisions follow from its events, its requests match the recorded commands, and its "
        "answers match the provider's bytes. It does not prove that the turn happened: see `vouched_by`."
    )
    doubt: str = Field(description="Why the verification failed; empty if it succeeded.")
    missing: list[str] = Field(description="What could not be compared, one sentence each.")
    vouched_by: Literal["here", "sender", "own", "known", "unknown", "unsigned", "broken"] = Field(
        description="Who vouches for the recording: `here`, this installation recorded it; `sender`, the sender of its "
        "trace; otherwise the result of checking the signature of its file."
    )


router = Router(tags=["turns"])

_HEAD_BYTES = 64
FILE = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object", "description": "docs/reference/turn-file.md"}}},
    }
}

LOG = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "minLength": 1, "description": "docs/how-to/imports.md"}
            }
        },
    }
}


@router.get("/turns/{turn_id}/export", response=response_fields.Object, summary="Export a turn")
def turn_export(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """The complete turn as one JSON file, which can be imported into another installation. 409 while the turn runs."""
    text = file_text(turn_file(selectors.turn_get(turn_id)))
    named = {"Content-Disposition": f'attachment; filename="turn-{turn_id}.json"', "Cache-Control": "no-store"}
    return HttpResponse(text, content_type="application/json", headers=named)


@router.post(
    "/turns/import",
    response={200: Imported, 201: Imported},
    summary="Import a turn",
    openapi_extra=FILE,
)
def turn_import(request: HttpRequest, unverified: bool = False) -> Status[dict[str, Any]]:
    """An exported file of at most 64 MB. Its turn is verified; with `unverified=true` it is stored even if it does not
    verify. 200 if the same turn exists already."""
    head: bytes = request.read(_HEAD_BYTES)
    beginning_check(head)  # before an import loads a process and waits for the one before it
    made = turn_import_apart(
        read=while_let_in(request, lambda: _content(request, head)),
        by=caller(request),
        unverified=unverified,
        client=client_of(request),
    )
    said = {
        "id": made.turn.id, "already_here": not made.fresh, "verified": made.verified, "doubt": made.doubt,
        "missing": made.missing, "vouched_by": vouched_of(made.turn).by,
    }  # fmt: skip
    return Status(201 if made.fresh else 200, said)


@router.post("/logs/import", response=LogImported, summary="Import a log", openapi_extra=LOG)
def log_import(request: HttpRequest, name: str = "log", dry_run: bool = False) -> dict[str, Any]:
    """A log of at most 64 MB: requests and answers in JSONL, an HTTP archive, a cassette, batch results, LiteLLM's or
    Langfuse's export, or a coding agent's transcript (docs/how-to/imports.md). `name`: the name of the file, which its
    turns show. Importing the same log twice changes nothing. With `dry_run=true` nothing is stored."""
    if not (head := request.read(_HEAD_BYTES)):
        raise HttpError(400, "The body is empty; send the log.")
    made = log_import_apart(
        read=while_let_in(request, lambda: _content(request, head)),
        by=caller(request),
        name=name[:200],
        dry=dry_run,
        client=client_of(request),
    )
    faults = [{"line": line, "words": words} for line, words in made.faults]
    return {**asdict(made), "faults": faults}


def _content(request: HttpRequest, head: bytes) -> bytes:
    """The whole body, of which `head` has been read."""
    content: bytes = head + request.read(MAX_BYTES + 1 - len(head))
    if len(content) > MAX_BYTES:
        raise HttpError(413, TOO_LARGE)
    return content


@router.get("/turns/{turn_id}/comments", response=list[turn_response_schemas.Comment], summary="List a turn's comments")
def turn_comments(
    request: HttpRequest, response: HttpResponse, turn_id: UUID, page: PagedArray
) -> list[dict[str, Any]]:
    """Comments in the order of their transitions."""
    return [
        comments.comment_shown(comment)
        for comment in items_array(request, response, list(comments.comments_of(selectors.turn_get(turn_id))), page)
    ]


@router.post(
    "/turns/{turn_id}/comments", response={201: turn_response_schemas.Comment}, summary="Comment on a transition"
)
def turn_comment(request: HttpRequest, turn_id: UUID, body: request_schemas.NewComment) -> Status[dict[str, Any]]:
    """`transition` is the number of the transition, from 1; 0 is the whole turn."""
    turn = selectors.turn_get(turn_id)
    made = comment_add(turn=turn, transition=body.transition, text=body.text, author=caller(request))
    return Status(201, comments.comment_shown(made))
