"""Values are held to their annotations, all the way down."""

from dataclasses import dataclass, fields
from typing import Any, cast

import pytest

from agentcore.argument_validation import unchecked
from agentcore.events import ModelResponded, Started
from agentcore.messages import ChatResponse, TokenUsage
from agentcore.policy import Limits, Policy
from agentcore.snapshot import Snapshot
from agentcore.type_check import misfits
from agentcore.values import replace
from tests.dashboard.turns.histories import answered, cut_twice, started, with_a_tool
from tests.together import together


def wrong(cls: Any, value: Any) -> list[str]:
    return list(misfits(cls, value))


def test_values_made_by_the_machine_pass_the_check():
    for recording in (cut_twice(), with_a_tool()):
        assert wrong(Policy, recording.policy) == []
        assert wrong(Snapshot, recording.final) == []
        for record in recording.records:
            assert wrong(type(record.event), record.event) == []


@together
@pytest.mark.parametrize("value", ["3", 3.5, True, None, [3]])
def test_an_invalid_number_is_found_at_its_location(value: Any):
    assert wrong(Policy, Policy(limits=unchecked(Limits)(max_continuations=value))) == ["limits.max_continuations"]


def test_only_optional_values_may_be_missing():
    assert wrong(Limits, Limits(max_seconds=None)) == []
    assert wrong(Limits, Limits(max_seconds=3)) == []
    assert wrong(Limits, unchecked(Limits)(max_seconds="long")) == ["max_seconds"]


def test_contents_of_lists_and_values_are_checked():
    event = answered(1.0, "text")
    assert isinstance(event, ModelResponded)
    odd = replace(event.response, usage=unchecked(TokenUsage)(input_tokens="many"))
    assert wrong(ModelResponded, replace(event, response=odd)) == ["response.usage"]
    assert wrong(ModelResponded, replace(event, response="hello")) == ["response"]  # type: ignore[arg-type]
    first = started()
    assert wrong(Started, replace(first, messages=("hello",))) == ["messages.0"]  # type: ignore[arg-type]
    assert wrong(Started, replace(first, messages=[*first.messages])) == ["messages"]  # type: ignore[arg-type]


def test_every_field_of_an_answer_is_checked():
    for field in fields(ChatResponse):
        if field.name != "echo":  # anything a dialect wants back
            value: Any = object()
            assert wrong(ChatResponse, replace(ChatResponse(), **{field.name: value})) == [field.name], field.name


class _LookedUp(type):
    """A type that asks about a value when its own test is first looked up, as another thread may at that moment."""

    told: list[str] | None = None

    def __hash__(cls) -> int:
        if cls.told is None:
            cls.told = []
            cls.told += wrong(Pair, Pair(1, cast("Second", None)))
        return super().__hash__()


class Second(metaclass=_LookedUp): ...


@dataclass
class Pair:
    first: int
    second: Second


def test_a_value_is_checked_completely_while_the_checks_of_its_type_are_still_being_built():
    assert wrong(Pair, Pair(1, Second())) == []
    assert Second.told == ["second"]
