"""Typed callables as tools: the schema says what the annotations say, and arguments that do not fit are told apart."""

import asyncio
import enum
import subprocess
import sys
import threading
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agentcore.errors import ErrorType
from dashboard.agents.schema_validation.validator import violations
from dashboard.tools.functions import ToolThreads, tool_of
from dashboard.tools.tool import TurnContext
from tests.dashboard.tools.calling import call
from tests.together import together


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    street: str
    number: int = 1


def everything(
    name: str,
    kind: Literal["a", "b"],
    colour: Colour,
    near: Place,
    day: date,
    schema: Annotated[str, Field(description="A name that models of pydantic have, too.")] = "s",
    tags: list[str] | None = None,
    how_many: Annotated[int, Field(ge=1, le=9)] = 3,
    exact: bool = False,
    self_: float | None = None,
) -> dict[str, Any]:
    """Take one of everything."""
    return {"day": day, "near": near, "tags": tags, "how_many": how_many, "colour": colour, "schema": schema}


WHOLE = {"name": "n", "kind": "a", "colour": "red", "near": {"street": "High"}, "day": "2026-01-02"}


def test_the_schema_is_derived_from_the_annotations():
    schema = tool_of(everything).spec.schema
    properties = schema["properties"]
    assert schema["required"] == ["name", "kind", "colour", "near", "day"]
    assert schema["additionalProperties"] is False
    assert properties["name"] == {"type": "string"}
    assert properties["kind"] == {"type": "string", "enum": ["a", "b"]}
    assert properties["schema"]["description"] == "A name that models of pydantic have, too."
    assert properties["tags"] == {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
        "default": None,
    }
    assert properties["how_many"] == {"type": "integer", "minimum": 1, "maximum": 9, "default": 3}
    assert properties["exact"] == {"type": "boolean", "default": False}
    assert properties["day"] == {"type": "string", "format": "date"}


def test_the_model_reads_the_name_and_the_docstring():
    spec = tool_of(everything).spec
    assert (spec.name, spec.description) == ("everything", "Take one of everything.")


def test_valid_arguments_reach_the_function_converted_with_defaults():
    tool = tool_of(everything)
    assert violations(tool.spec.schema, WHOLE) == []
    content = call(tool, **WHOLE, how_many=2).content
    assert '"day":"2026-01-02"' in content
    assert '"near":{"street":"High","number":1}' in content
    assert '"how_many":2' in content


@together
@pytest.mark.parametrize(
    ("wrong", "field", "why"),
    [
        ({"kind": "c"}, "kind", "'a' or 'b'"),
        ({"how_many": 0}, "how_many", "greater than or equal to 1"),
        ({"how_many": "many"}, "how_many", "valid integer"),
        ({"near": {}}, "near.street", "Field required"),
        ({"tags": [1]}, "tags.0", "valid string"),
        ({"other": 1}, "other", "Unexpected keyword argument"),
        ({"colour": "green"}, "colour", "'red' or 'blue'"),
    ],
)
def test_an_invalid_argument_is_named_with_the_reason(wrong: dict[str, Any], field: str, why: str):
    failed = call(tool_of(everything), **{**WHOLE, **wrong})
    assert failed.error is ErrorType.TOOL
    assert "The arguments do not fit." in failed.content
    assert f" {field}: " in failed.content
    assert why in failed.content
    assert violations(tool_of(everything).spec.schema, {**WHOLE, **wrong})


def test_every_missing_argument_is_named():
    content = call(tool_of(everything)).content
    assert all(f"{name}: Missing required argument" in content for name in WHOLE)


def test_a_tool_without_parameters_takes_an_empty_object():
    def ping() -> str:
        """Ping."""
        return "pong"

    tool = tool_of(ping)
    assert violations(tool.spec.schema, {}) == []
    assert tool.spec.schema["type"] == "object"
    assert call(tool).content == "pong"


@pytest.mark.parametrize("is_async", [True, False])
def test_a_tool_that_needs_its_turn_receives_it_hidden_from_the_model(is_async: bool):
    def here(word: str, turn: TurnContext) -> str:
        """Where."""
        return f"{word} {turn.turn_id}"

    async def there(word: str, turn: TurnContext) -> str:
        """Where."""
        return f"{word} {turn.turn_id}"

    tool = tool_of(there if is_async else here)
    assert tool.wants_turn
    assert list(tool.spec.schema["properties"]) == ["word"]
    assert call(tool, word="in").content == "in t"
    assert "turn: Unexpected keyword argument" in call(tool, word="in", turn="mine").content


def test_simultaneous_runs_are_limited_and_all_run():
    running, most = 0, 0
    lock = threading.Lock()

    def work() -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        return 1

    async def all_of_them() -> int:
        threads = ToolThreads(most=3)
        return sum(await asyncio.gather(*(threads.run(work) for _ in range(20))))

    assert asyncio.run(all_of_them()) == 20
    assert 1 <= most <= 3


def test_a_call_cancelled_before_its_start_never_runs():
    release, ran = threading.Event(), threading.Event()

    async def story() -> None:
        threads = ToolThreads(most=1)
        first = asyncio.create_task(threads.run(lambda: release.wait(30)))
        await asyncio.sleep(0)
        second = asyncio.create_task(threads.run(ran.set))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        release.set()
        assert await first
        assert await threads.run(lambda: "after") == "after"

    asyncio.run(story())
    assert not ran.is_set()


def test_an_endless_thread_does_not_keep_the_process_alive():
    script = (
        "import asyncio, threading\n"
        "from dashboard.tools.functions import threads\n"
        "async def main():\n"
        "    try: await asyncio.wait_for(threads.run(threading.Event().wait), 0.05)\n"
        "    except TimeoutError: print('late')\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    assert ended.stdout == b"late\n"
