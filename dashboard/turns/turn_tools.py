"""Tools in a turn: which one a model means, and what the turn gives it to look into."""

from uuid import UUID

from dashboard.tools.mcp.names import wire_name
from dashboard.tools.models import McpServer, TurnDocument
from dashboard.tools.selectors import own_tool, server_tool
from dashboard.tools.tool import Document, Tool, TurnContext
from dashboard.turns.history import begun_as
from dashboard.turns.models import ToolClaim, Turn


def tool_called(name: str, *, turn_id: UUID) -> Tool | None:
    """The tool a model means by this name in this turn, even if it is no longer offered; None where there is none."""
    found = own_tool(name)
    server_name, fence, _ = name.partition("__")
    if found is not None or not fence:
        return found
    projects = Turn.objects.filter(id=turn_id).values("project_id")
    server = McpServer.objects.filter(project_id__in=projects, name=server_name).first()
    entries = server.tools if server else ()
    meant = (entry for entry in entries if wire_name(server_name, entry["name"]) == name)
    return next((server_tool(server, entry) for entry in meant if server), None)


def turn_context(turn_id: UUID) -> TurnContext:
    """The turn, with the documents it was started with, then its messages and what its tools returned."""
    turn = Turn.objects.get(id=turn_id)
    given = [Document(name, text) for name, text in TurnDocument.objects.filter(turn=turn).values_list("name", "text")]
    messages = begun_as(turn).get("messages") or [{"role": "user", "text": turn.input_text}]
    said = [
        Document(f"message {n} ({message['role']})", message.get("text", "")) for n, message in enumerate(messages, 1)
    ]
    return TurnContext(str(turn_id), (*given, *(message for message in said if message.text), *_results(turn_id)))


def _results(turn_id: UUID) -> list[Document]:
    """What tools returned so far in the turn, but for what a search did: that is in the documents already."""
    claims = ToolClaim.objects.filter(turn_id=turn_id, finished_at__isnull=False, error=None)
    found = claims.exclude(name="search_documents").order_by("claimed_at").values_list("name", "call_id", "result")
    return [Document(f"result of {name} ({call_id})", result) for name, call_id, result in found if result]
