"""A typed Python callable as a tool. pydantic reads its annotations: for the schema, and to check the arguments."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

from agentcore.messages import ToolSpec
from dashboard.tools.outputs import text_of
from dashboard.tools.threads import threads
from dashboard.tools.tool import Run, Tool, ToolProblem, TurnContext

MOST_FAULTS = 5  #: of arguments, told at once


class ArgumentsProblem(ToolProblem):
    """The arguments are not what the tool takes; the message says which, and why."""


def tool_of(function: Callable[..., Any], **more: Any) -> Tool:
    """The function as a tool under its own name. Its docstring is what the model reads; `more`: fields of `Tool`.

    A parameter annotated `TurnContext` is given the turn. A coroutine function runs on the event loop, any other in a
    thread, where it must keep away from the ORM.
    """
    name = function.__name__
    hints = get_type_hints(function, include_extras=True)
    turn = next((parameter for parameter, hint in hints.items() if hint is TurnContext), None)
    arguments = _arguments_of(function, hints, without=turn)
    spec = ToolSpec(name, inspect.getdoc(function) or "", _schema(arguments))
    is_async = inspect.iscoroutinefunction(function)
    run = (_on_loop if is_async else _in_thread)(function, arguments, turn)
    return Tool(name, spec, run, endable=is_async, wants_turn=turn is not None, **more)


def _arguments_of(function: Callable[..., Any], hints: Mapping[str, Any], *, without: str | None) -> TypeAdapter[Any]:
    """What reads the arguments of a call: it gives them back as a dict, converted and with defaults."""

    def gather(**arguments: Any) -> dict[str, Any]:
        return arguments

    parameters = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(function).parameters.items()
        if name != without
    ]
    gather.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    gather.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", gather))
    return adapter


def _schema(arguments: TypeAdapter[Any]) -> dict[str, Any]:
    """JSON Schema without pydantic's titles, which only repeat the names."""
    schema = arguments.json_schema()
    schema.setdefault("properties", {})
    for part in schema["properties"].values():
        part.pop("title", None)
    return schema


def _checked(arguments: TypeAdapter[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        checked: dict[str, Any] = arguments.validate_python(ArgsKwargs((), dict(given)))
    except ValidationError as error:
        raise ArgumentsProblem(_faults(error)) from None
    return checked


def _faults(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    told = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:MOST_FAULTS])
    return f"The arguments do not fit. {told}."


def _on_loop(function: Callable[..., Any], arguments: TypeAdapter[Any], turn: str | None) -> Run:
    async def run(given: Mapping[str, Any], context: TurnContext) -> Any:
        return await function(**_checked(arguments, given), **({turn: context} if turn else {}))

    return run


def _in_thread(function: Callable[..., Any], arguments: TypeAdapter[Any], turn: str | None) -> Run:
    async def run(given: Mapping[str, Any], context: TurnContext) -> Any:
        checked = _checked(arguments, given)
        return await threads.run(lambda: text_of(function(**checked, **({turn: context} if turn else {}))))

    return run
