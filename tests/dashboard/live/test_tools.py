"""Tools: schemas from annotations, errors as results, arithmetic that cannot eat the machine."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import ErrorType
from agentcore.events import ToolResult
from agentcore.messages import ToolCall
from dashboard.live import tools
from dashboard.live.arithmetic import ArithmeticProblem, calculate
from dashboard.live.tools import TOOLS, run_tool


def run(name: str, seconds_left: float | None = None, **arguments: object) -> ToolResult:
    return asyncio.run(run_tool(ToolCall("c1", name, arguments), seconds_left=seconds_left))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("6 * 7", 42),
        ("2 ** 10", 1024),
        ("-(3 - 5) / 4", 0.5),
        ("17 // 5 + 17 % 5", 5),
        ("sqrt(16) + abs(-2)", 6.0),
        ("round(pi)", 3),
        (" 1e3 ", 1000.0),
    ],
)
def test_arithmetic_is_calculated(expression: str, value: float):
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "__import__('os')",
        "(1).__class__",
        "[1, 2]",
        "'a' * 9",
        "True + 1",
        "1 if 1 else 2",
        "open('x')",
        "sqrt(-1)",
        "(-8) ** 0.5",
        "1 / 0",
        "9 ** 9 ** 9",
        "2 ** 100000",
        "exp(100000)",
        "1" * 2_000,
        "(" * 500 + ")" * 500,
    ],
)
def test_what_is_not_bounded_arithmetic_is_refused_in_words_and_at_once(expression: str):
    began = time.monotonic()
    with pytest.raises(ArithmeticProblem):
        calculate(expression)
    assert time.monotonic() - began < 20


@given(st.text(max_size=60))
def test_no_text_makes_the_calculator_do_anything_but_answer_or_refuse(text: str):
    try:
        assert isinstance(calculate(text), int | float)
    except ArithmeticProblem:
        return


def test_the_calculators_schema_comes_from_its_annotation():
    assert TOOLS["calculator"].spec.schema == {
        "type": "object",
        "properties": {"expression": {"type": "string"}},
        "required": ["expression"],
        "additionalProperties": False,
    }


def test_a_result_and_a_failure_are_both_told_to_the_model():
    assert run("calculator", expression="6 * 7") == ToolResult("c1", "calculator", "42")
    failed = run("calculator", expression="six times seven")
    assert failed.error is ErrorType.TOOL
    assert "not an arithmetic expression" in failed.content


def test_a_tool_that_is_gone_is_an_error_result():
    assert run("nothing").error is ErrorType.TOOL


def test_a_tool_that_takes_too_long_is_a_timeout(monkeypatch: pytest.MonkeyPatch):
    def sleeper() -> str:
        """Sleep."""
        time.sleep(0.3)
        return "late"

    monkeypatch.setattr(tools, "TOOLS", dict(TOOLS))
    tools.tool(timeout=10)(sleeper)
    assert run("sleeper", seconds_left=0.05).error is ErrorType.TIMEOUT


def test_a_long_output_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch):
    def babbler() -> str:
        """Babble."""
        return "x" * 50_000

    monkeypatch.setattr(tools, "TOOLS", dict(TOOLS))
    tools.tool()(babbler)
    content = run("babbler").content
    assert len(content) < 21_000
    assert content.endswith("the output has 50000 characters.")
