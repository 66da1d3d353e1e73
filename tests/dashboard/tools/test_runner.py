"""One call: whatever a tool does, there is a result the model can read, in time and in bounds."""

import asyncio
import contextlib
import threading
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from agentcore.errors import ErrorType
from agentcore.events import ToolResult
from agentcore.messages import ToolCall
from dashboard.tools.functions import tool_of
from dashboard.tools.runner import MAX_PROBLEM_CHARS, run_tool
from dashboard.tools.tool import TurnContext
from tests.dashboard.tools.calling import call
from tests.together import together


def test_text_is_returned_unchanged():
    def speak() -> str:
        return "line\n“two”"

    assert call(tool_of(speak)) == ToolResult("c1", "speak", "line\n“two”")


@together
@pytest.mark.parametrize(
    ("output", "text"),
    [
        (None, "null"),
        ({"a": [1, 2.5, True]}, '{"a":[1,2.5,true]}'),
        (b"\xff\x00", '"_wA="'),
        (float("nan"), '"NaN"'),
        ({3}, "[3]"),
        (date(2026, 1, 2), '"2026-01-02"'),
        (Path, "\"<class 'pathlib.Path'>\""),
    ],
)
def test_anything_else_is_returned_as_json(output: Any, text: str):
    def give() -> Any:
        return output

    assert call(tool_of(give)).content == text


def test_a_result_that_cannot_be_json_is_an_error_result():
    loop: list[Any] = []
    loop.append(loop)

    def give() -> Any:
        return loop

    assert call(tool_of(give)).error is ErrorType.TOOL


def test_a_character_that_cannot_be_stored_is_replaced():
    def speak() -> str:
        return "a\x00b\ud800c"

    assert call(tool_of(speak)).content == "a\ufffdb\ufffdc"


def test_a_long_output_is_shortened_with_the_omitted_length():
    def babble() -> str:
        return "x" * 50_000

    content = call(tool_of(babble, max_chars=1_000)).content
    assert content.startswith("x" * 1_000 + "\n…")
    assert content.endswith("cut: 1,000 of 50,000 characters are shown, 49,000 are not.")


def test_a_missing_tool_is_an_error_result():
    gone = call(None)
    assert gone.error is ErrorType.TOOL
    assert "There is no tool named “nothing” any more." in gone.content


@together
@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    "error",
    [ValueError("the oven is cold"), KeyError("key"), SystemExit(3), TimeoutError("the oven"), RecursionError()],
)
def test_an_exception_is_reported_by_class_and_message_without_a_traceback(is_async: bool, error: BaseException):
    def bake() -> str:
        raise error

    async def bake_slowly() -> str:
        raise error

    failed = call(tool_of(bake_slowly if is_async else bake))
    assert failed.error is ErrorType.TOOL
    assert type(error).__name__ in failed.content
    assert str(error) in failed.content
    assert "Traceback" not in failed.content


def test_a_very_long_exception_message_is_shortened():
    def bake() -> str:
        raise ValueError("x" * 100_000)

    assert len(call(tool_of(bake)).content) < MAX_PROBLEM_CHARS + 200


def test_a_late_asynchronous_tool_is_ended():
    ended = threading.Event()

    async def dawdle() -> str:
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()
        return "late"

    late = call(tool_of(dawdle, timeout=0.05))
    assert late.error is ErrorType.TIMEOUT
    assert late.content == "dawdle took longer than 0.05 s. It was ended."
    assert ended.is_set()


def test_an_asynchronous_tool_that_ignores_cancellation_is_abandoned():
    released = False

    async def stubborn() -> str:
        while not released:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        return "late"

    async def story() -> ToolResult:
        nonlocal released
        tool = tool_of(stubborn, timeout=0.05)
        result = await run_tool(ToolCall("c1", "stubborn"), tool, TurnContext("t"), seconds_left=None)
        released = True
        return result

    assert asyncio.run(story()).error is ErrorType.TIMEOUT


def test_a_late_synchronous_tool_is_abandoned_and_reported():
    released = threading.Event()

    def wait() -> str:
        released.wait(30)
        return "late"

    late = call(tool_of(wait, timeout=0.05))
    released.set()
    assert late.error is ErrorType.TIMEOUT
    assert "wait took longer than 0.05 s. It was abandoned" in late.content


def test_the_remaining_time_of_the_turn_also_limits_a_tool():
    async def dawdle() -> str:
        await asyncio.sleep(600)
        return "late"

    assert "longer than 0.05 s" in call(tool_of(dawdle, timeout=60), seconds_left=0.05).content
    assert call(tool_of(dawdle, timeout=60), seconds_left=-1.0).error is ErrorType.TIMEOUT


def test_a_tool_that_cancels_itself_is_an_error_result():
    async def give_up() -> str:
        raise asyncio.CancelledError

    assert call(tool_of(give_up)).error is ErrorType.TOOL
