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
from agentcore.machine.states import State
from agentcore.messages import ToolCall
from dashboard.platform.db_threads import retrying
from dashboard.platform.fields import storable_text
from dashboard.tools.runner import failed, run_tool
from dashboard.tools.tool import Tool, TurnContext
from dashboard.turns.models import Attempt, ToolClaim, Turn
from dashboard.turns.recorder import LostTurnError
from dashboard.turns.turn_tools import tool_called, turn_context


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
        raise LostTurnError(f"Turn {turn_id} does not wait for the tools of attempt {attempt} any more.")


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
