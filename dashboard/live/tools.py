"""The tools an agent may be given, by name. A tool's schema comes from its annotations."""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.errors import ErrorType
from agentcore.events import ToolResult
from agentcore.messages import ToolCall, ToolSpec
from dashboard.live.arithmetic import calculate

MAX_OUTPUT_CHARS = 20_000
_JSON_TYPES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class Tool:
    """A callable an agent may use. `timeout` in seconds; an idempotent tool may run again after a crash."""

    spec: ToolSpec
    run: Callable[..., str]
    timeout: float
    idempotent: bool


TOOLS: dict[str, Tool] = {}


def tool(*, timeout: float = 10.0, idempotent: bool = False) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Register a function as a tool under its name; its docstring is what the model reads."""

    def register(function: Callable[..., str]) -> Callable[..., str]:
        spec = ToolSpec(function.__name__, inspect.getdoc(function) or "", _schema(function))
        TOOLS[spec.name] = Tool(spec, function, timeout, idempotent)
        return function

    return register


def _schema(function: Callable[..., str]) -> dict[str, Any]:
    parameters = inspect.signature(function, eval_str=True).parameters
    return {
        "type": "object",
        "properties": {name: {"type": _JSON_TYPES[p.annotation]} for name, p in parameters.items()},
        "required": [name for name, p in parameters.items() if p.default is inspect.Parameter.empty],
        "additionalProperties": False,
    }


@tool(idempotent=True)
def calculator(expression: str) -> str:
    """Calculate an arithmetic expression such as "6 * 7" or "sqrt(2) ** 3" and return its value."""
    return str(calculate(expression))


def specs_of(names: list[str]) -> tuple[ToolSpec, ...]:
    return tuple(TOOLS[name].spec for name in names)


async def run_tool(call: ToolCall, *, seconds_left: float | None) -> ToolResult:
    """Run one call. Whatever goes wrong becomes an error result the model can read; nothing is raised."""
    found = TOOLS.get(call.name)
    if found is None:
        return failed(call, f"There is no tool named “{call.name}” any more.")
    limit = found.timeout if seconds_left is None else min(found.timeout, seconds_left)
    try:
        output = await asyncio.wait_for(asyncio.to_thread(found.run, **call.arguments), limit)
    except TimeoutError:
        return failed(call, f"{call.name} took longer than {limit:g} s.", ErrorType.TIMEOUT)
    except Exception as error:
        return failed(call, f"{call.name} failed: {error}")
    if len(output) > MAX_OUTPUT_CHARS:
        output = f"{output[:MAX_OUTPUT_CHARS]}\n… cut: the output has {len(output)} characters."
    return ToolResult(call.id, call.name, output)


def failed(call: ToolCall, problem: str, error: ErrorType = ErrorType.TOOL) -> ToolResult:
    return ToolResult(call.id, call.name, problem, error)
