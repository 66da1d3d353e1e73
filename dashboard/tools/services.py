"""Writes to MCP servers and to the documents of turns. Each raises `ValidationError` with sentences by field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError

from dashboard.agents.models import Project
from dashboard.tools import validation
from dashboard.tools.mcp.servers import server_of
from dashboard.tools.models import McpServer, TurnDocument
from dashboard.tools.tool import ToolProblem
from dashboard.turns.models import Turn

MAX_DOCUMENTS = 50
MAX_DOCUMENT_CHARS = 1_000_000  #: of all documents of a turn together


@dataclass(frozen=True, slots=True)
class ToolDiscovery:
    """What came of looking for a server's tools. `problem` is empty where it answered; `heard`: its last words."""

    found: int = 0
    left_out: Sequence[str] = ()
    problem: str = ""
    heard: str = ""


def mcp_server_create(*, project: Project, name: str, **fields: Any) -> McpServer:
    """`fields`: those of `McpServer`."""
    server = McpServer(project=project, name=name, **fields)
    server.full_clean()
    server.save()
    return server


def mcp_server_look(*, server: McpServer) -> ToolDiscovery:
    """Ask the server for its tools and keep them. Where it does not answer, those it had stay."""
    from dashboard.tools.mcp import session  # the SDK takes half a second to import

    try:
        offered = session.look(server_of(server))
    except ToolProblem as problem:
        return ToolDiscovery(problem=str(problem), heard=getattr(problem, "heard", ""))
    server.tools, server.refreshed_at = offered.tools, datetime.now(UTC)
    server.save(update_fields=["tools", "refreshed_at"])
    return ToolDiscovery(len(offered.tools), offered.left_out)


def documents_clean(documents: Sequence[Mapping[str, str]]) -> list[TurnDocument]:
    """Documents `{name, text}` that a turn may have, to be stored with it."""
    faults = validation.documents_faults(
        [document["name"] for document in documents],
        [len(document["text"]) for document in documents],
        most=MAX_DOCUMENTS,
        most_chars=MAX_DOCUMENT_CHARS,
    )
    if faults:
        raise ValidationError({"documents": faults})
    return [TurnDocument(n=n, name=given["name"], text=given["text"]) for n, given in enumerate(documents)]


def documents_add(*, turn: Turn, documents: Sequence[TurnDocument]) -> None:
    """Give a turn that has just been saved its documents."""
    for document in documents:
        document.turn = turn
    TurnDocument.objects.bulk_create(documents)


def documents_inherit(*, turn: Turn) -> None:
    """A fork has its parent's documents."""
    if turn.parent_id is None:
        return
    theirs = TurnDocument.objects.filter(turn_id=turn.parent_id)
    documents_add(turn=turn, documents=[TurnDocument(n=d.n, name=d.name, text=d.text) for d in theirs])
