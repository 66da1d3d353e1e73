"""Running one call of a tool. Nothing is raised: what goes wrong becomes an error result the model can read."""

import asyncio
from typing import Any

from agentcore.errors import ErrorType
from agentcore.events import ToolResult
from agentcore.messages import ToolCall
from agentcore.number_format import seconds
from dashboard.tools.tool import Tool, ToolProblem, TurnContext, shown

GRACE_SECONDS = 0.5  #: for an asynchronous tool that is late to clear up
MAX_PROBLEM_CHARS = 2_000

_LATE = {
    True: "It was ended.",
    False: "It was abandoned: it runs in a thread, which cannot be stopped, and may still have an effect.",
}


async def run_tool(call: ToolCall, tool: Tool | None, turn: TurnContext, *, seconds_left: float | None) -> ToolResult:
    """The result of the call, after `tool.timeout` seconds or the turn's `seconds_left` at the latest."""
    if tool is None:
        return failed(call, f"There is no tool named “{call.name}” any more.")
    limit = tool.timeout if seconds_left is None else max(0.0, min(tool.timeout, seconds_left))
    try:
        return ToolResult(call.id, call.name, shown(await _within(limit, tool, call, turn), tool.max_chars))
    except TimeoutError:
        return failed(call, f"{tool.name} took longer than {seconds(limit)}. {_LATE[tool.endable]}", ErrorType.TIMEOUT)
    except ToolProblem as problem:
        return failed(call, f"{tool.name} failed: {problem}")
    except Exception as error:
        return failed(call, f"{tool.name} failed: {type(error).__name__}: {error}")


async def _within(seconds: float, tool: Tool, call: ToolCall, turn: TurnContext) -> Any:
    """What the tool returns or raises; TimeoutError when it is late, whether or not it lets itself be ended."""
    work = asyncio.create_task(_guarded(tool, call, turn))
    try:
        done, _ = await asyncio.wait({work}, timeout=seconds)
        if not done:
            work.cancel()
            await asyncio.wait({work}, timeout=GRACE_SECONDS)
            raise TimeoutError
        return _outcome(work)
    finally:
        work.cancel()


async def _guarded(tool: Tool, call: ToolCall, turn: TurnContext) -> Any:
    """A tool's own exceptions are values here: none goes unheard when nobody waits any more, and none ends the loop."""
    try:
        return await tool.run(call.arguments, turn)
    except TimeoutError as error:
        return _Raised(ToolProblem(f"TimeoutError: {error}"))
    except Exception as error:
        return _Raised(error)
    except SystemExit as error:
        return _Raised(ToolProblem(f"SystemExit: {error}"))


class _Raised:
    def __init__(self, error: Exception) -> None:
        self.error = error


def _outcome(work: "asyncio.Task[Any]") -> Any:
    if work.cancelled():
        raise ToolProblem("It ended itself.")
    result = work.result()
    if isinstance(result, _Raised):
        raise result.error
    return result


def failed(call: ToolCall, problem: str, error: ErrorType = ErrorType.TOOL) -> ToolResult:
    """An error result in these words, as far as they are worth reading."""
    return ToolResult(call.id, call.name, shown(problem, MAX_PROBLEM_CHARS), error)
