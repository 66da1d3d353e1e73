"""Running a turn's tools so that none runs twice: a claim is committed before a tool starts.

A claim without a result is a tool whose worker is gone. It becomes an `interrupted` error, unless it is idempotent.
A worker that was only asleep starts no tool of a turn that has gone on, and what its tools still say is not taken.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from datetime import UTC, datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists

from agentcore.commands import RunTools
from agentcore.errors import ErrorType
from agentcore.events import ToolResult
from agentcore.messages import ToolCall
from agentcore.states import State
from dashboard.platform.db_threads import retrying
from dashboard.platform.fields import storable_text
from dashboard.tools.mcp.servers import wire_name
from dashboard.tools.models import McpServer, TurnDocument
from dashboard.tools.runner import failed, run_tool
from dashboard.tools.selectors import own_tool, server_tool
from dashboard.tools.tool import Document, Tool, TurnContext
from dashboard.turns.history import begun_as
from dashboard.turns.models import Attempt, ToolClaim, Turn
from dashboard.turns.recorder import LostTurnError


class Runs:
    """The tools of one answer, side by side. While one runs, a person may answer in its place."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[ToolResult | None]] = {}
        self._answered: set[str] = set()

    async def results(self, turn_id: UUID, command: RunTools, attempt: int) -> tuple[ToolResult, ...]:
        """Those of all calls that nobody else answered, in their order. `attempt`: the one that called.

        Raises `LostTurnError`, before a tool starts, where the turn does not wait for it any more.
        """
        for call in command.calls:
            run = _run(turn_id, call, attempt, command.seconds_left)
            self._tasks[call.id] = asyncio.create_task(self._unless_answered(call.id, run))
        return tuple(filter(None, await asyncio.gather(*self._tasks.values())))

    async def _unless_answered(self, call_id: str, run: Awaitable[ToolResult]) -> ToolResult | None:
        try:
            return await run
        except asyncio.CancelledError:
            if call_id not in self._answered:
                raise
            return None

    def end_but(self, calls: Iterable[ToolCall]) -> None:
        """End those that are not called any more, for they are answered; what they still return is dropped."""
        for call_id in self._tasks.keys() - {call.id for call in calls} - self._answered:
            self._answered.add(call_id)
            self._tasks[call_id].cancel()


async def _run(turn_id: UUID, call: ToolCall, attempt: int, seconds_left: float | None) -> ToolResult:
    tool, turn, earlier = await retrying(_begin, turn_id, call, attempt)
    if earlier is not None:
        return earlier
    result = await run_tool(call, tool, turn, seconds_left=seconds_left)
    return await retrying(_finish, turn_id, result)


def _begin(turn_id: UUID, call: ToolCall, attempt: int) -> tuple[Tool | None, TurnContext, ToolResult | None]:
    """The tool that is meant, what it is told of the turn, and what became of an earlier claim of the call."""
    tool = tool_called(call.name, turn_id=turn_id)
    earlier = _claim(turn_id, call, attempt, idempotent=tool is not None and tool.idempotent)
    wants_turn = tool is not None and tool.wants_turn and earlier is None
    return tool, turn_context(turn_id) if wants_turn else TurnContext(str(turn_id)), earlier


@transaction.atomic
def _claim(turn_id: UUID, call: ToolCall, attempt: int, *, idempotent: bool) -> ToolResult | None:
    """Claim the call; or say what became of an earlier claim of it."""
    _require_waiting(turn_id, attempt)
    claim, fresh = ToolClaim.objects.get_or_create(
        turn_id=turn_id,
        call_id=storable_text(call.id),
        defaults={"name": storable_text(call.name), "idempotent": idempotent},
    )
    if fresh or (claim.finished_at is None and claim.idempotent):
        return None
    if claim.finished_at is None:
        why = f"{call.name} was interrupted; whether it had an effect is not known."
        return _settled(turn_id, failed(call, why))
    return _result(claim, call.id)


def _require_waiting(turn_id: UUID, attempt: int) -> None:
    """The turn waits for the tools of this attempt, and does so until the transaction ends."""
    later = Attempt.objects.filter(turn_id=turn_id, index__gt=attempt)
    turn = Turn.objects.select_for_update().filter(id=turn_id, state=State.EXECUTE_TOOLS.value)
    if not turn.filter(~Exists(later)).exists():
        raise LostTurnError(f"Turn {turn_id} does not wait for the tools of call {attempt} any more.")


def _finish(turn_id: UUID, result: ToolResult) -> ToolResult:
    """Keep what came of a call; the first word stands, also where that is another worker's."""
    with transaction.atomic():
        return _settled(turn_id, result)


def _settled(turn_id: UUID, result: ToolResult) -> ToolResult:
    claim = ToolClaim.objects.select_for_update().get(turn_id=turn_id, call_id=storable_text(result.call_id))
    if claim.finished_at is not None:
        return _result(claim, result.call_id)
    claim.result = result.content
    claim.error = None if result.error is None else result.error.value
    claim.finished_at = datetime.now(UTC)
    claim.save(update_fields=["result", "error", "finished_at"])
    return result


def _result(claim: ToolClaim, call_id: str) -> ToolResult:
    """What the claim says; `call_id` as the model wrote it, which may hold what Postgres does not take."""
    error = ErrorType(claim.error) if claim.error else None
    return ToolResult(call_id, claim.name, claim.result or "", error)


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
