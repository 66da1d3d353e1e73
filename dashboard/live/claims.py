"""Running a turn's tools so that none runs twice: a claim is committed before a tool starts.

A claim without a result is a tool whose worker is gone. It becomes an `interrupted` error, unless it is idempotent.
"""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

from agentcore.commands import RunTools
from agentcore.errors import ErrorType
from agentcore.events import ToolResult
from agentcore.messages import ToolCall
from dashboard.live.offload import in_database
from dashboard.tools.running import failed, run_tool
from dashboard.tools.selectors import tool_called, turn_context
from dashboard.tools.tool import Tool, TurnContext
from dashboard.turns.fields import storable_text
from dashboard.turns.models import ToolClaim


async def run_all(turn_id: UUID, command: RunTools) -> tuple[ToolResult, ...]:
    """The results of all calls, in their order; they run side by side."""
    runs = (_run(turn_id, call, command.seconds_left) for call in command.calls)
    return tuple(await asyncio.gather(*runs))


async def _run(turn_id: UUID, call: ToolCall, seconds_left: float | None) -> ToolResult:
    tool, turn, earlier = await in_database(_begin, turn_id, call)
    if earlier is not None:
        return earlier
    result = await run_tool(call, tool, turn, seconds_left=seconds_left)
    await in_database(_finish, turn_id, result)
    return result


def _begin(turn_id: UUID, call: ToolCall) -> tuple[Tool | None, TurnContext, ToolResult | None]:
    """The tool that is meant, what it is told of the turn, and what became of an earlier claim of the call."""
    tool = tool_called(call.name, turn_id=turn_id)
    earlier = _claim(turn_id, call, idempotent=tool is not None and tool.idempotent)
    wants_turn = tool is not None and tool.wants_turn and earlier is None
    return tool, turn_context(turn_id) if wants_turn else TurnContext(str(turn_id)), earlier


def _claim(turn_id: UUID, call: ToolCall, *, idempotent: bool) -> ToolResult | None:
    """Claim the call; or say what became of an earlier claim of it."""
    claim, fresh = ToolClaim.objects.get_or_create(
        turn_id=turn_id,
        call_id=storable_text(call.id),
        defaults={"name": storable_text(call.name), "idempotent": idempotent},
    )
    if fresh or (claim.finished_at is None and claim.idempotent):
        return None
    if claim.finished_at is None:
        return failed(call, f"{call.name} was interrupted; whether it had an effect is not known.")
    error = ErrorType(claim.error) if claim.error else None
    return ToolResult(call.id, call.name, claim.result or "", error)


def _finish(turn_id: UUID, result: ToolResult) -> None:
    claims = ToolClaim.objects.filter(turn_id=turn_id, call_id=storable_text(result.call_id))
    claims.update(
        result=result.content,
        error=None if result.error is None else result.error.value,
        finished_at=datetime.now(UTC),
    )
