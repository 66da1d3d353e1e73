"""A typed Python callable as a tool. pydantic reads its annotations: for the schema, and to check the arguments."""

import asyncio
import inspect
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

from agentcore.messages import ToolSpec
from dashboard.tools.tool import Run, Tool, ToolProblem, TurnContext, text_of

MOST_FAULTS = 5  #: of arguments, told at once
MOST_THREADS = 16

_Work = tuple["Future[Any]", Callable[[], Any]]


class ToolThreads:
    """At most `most` threads, started as they are needed; work that finds none free waits its turn."""

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._queue: queue.SimpleQueue[_Work] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._unfinished = 0
        self._started = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        """What `work` returns or raises. Cancelled before it began, it never runs; after that, it is left behind."""
        future: Future[Any] = Future()
        with self._lock:
            self._unfinished += 1
            if self._started < min(self._most, self._unfinished):
                self._started += 1
                threading.Thread(target=self._serve, name=f"tool-{self._started}", daemon=True).start()
        self._queue.put((future, work))
        return await asyncio.wrap_future(future)

    def _serve(self) -> None:
        while True:
            _perform(*self._queue.get())
            with self._lock:
                self._unfinished -= 1


def _perform(future: "Future[Any]", work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # whoever awaits it judges it, SystemExit too
        future.set_exception(error)
    else:
        future.set_result(result)


threads = ToolThreads()


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
