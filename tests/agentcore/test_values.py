"""Copies of frozen values are the ones `dataclasses.replace` makes."""

import dataclasses
import inspect
import pickle

import pytest

from agentcore.commands import Hold, Wait
from agentcore.error_policy import ErrorHandlingDecision, ErrorPolicy
from agentcore.errors import ErrorType, ProviderError
from agentcore.events import ModelResponded, Setup, Started, ToolResult, ToolsReturned
from agentcore.machine.advance import advance
from agentcore.messages import CallIssue, ChatRequest, ChatResponse, Message, Role, ToolCall, ToolSpec
from agentcore.policy import OnTruncation, Policy
from agentcore.providers import PROVIDERS
from agentcore.reasons import AttemptKind, NormalizedStopReason
from agentcore.replay import Record, Recording, verify
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call, Spent
from agentcore.states import State
from agentcore.values import copier, quickly_made, replace


def test_a_copy_has_the_change_and_all_other_fields():
    old = Snapshot(spent=Spent(attempts=2), at=1.5)
    new = replace(old, state=State.REQUEST)
    assert new == dataclasses.replace(old, state=State.REQUEST)
    assert old.state is State.IDLE


def test_a_copy_is_also_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(Spent(), attempts=1).attempts = 2  # type: ignore[misc]


def test_a_copier_accepts_its_changes_in_order():
    copy, old = copier(Spent, "seconds", "attempts"), Spent(attempts=2, output_chars=5)
    assert copy(old, 1.5, 3) == dataclasses.replace(old, seconds=1.5, attempts=3)
    assert old == Spent(attempts=2, output_chars=5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        copy(old, 1.5, 3).attempts = 4
    with pytest.raises(TypeError, match="Spent has no field 'tries'"):
        copier(Spent, "tries")


@quickly_made
@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    x: int
    names: list[str] = dataclasses.field(default_factory=list)
    y: int = 0

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("A point is to the right.")


def test_fast_construction_equals_that_of_dataclasses():
    assert (Point(1).x, Point(1).names, Point(1).y) == (1, [], 0)
    assert Point(1, ["a"], y=2) == Point(y=2, names=["a"], x=1)
    assert Point(1).names is not Point(1).names
    assert str(inspect.signature(Point)) == "(x: int, names: list[str] = <factory>, y: int = 0) -> None"
    assert repr(Point(1)) == "Point(x=1, names=[], y=0)"
    assert pickle.loads(pickle.dumps(Point(1))) == Point(1)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="to the right"):
        Point(-1)


@quickly_made
@dataclasses.dataclass(frozen=True, slots=True)
class Trip:
    start: Point
    seen: list[str] = dataclasses.field(default_factory=list, init=False, compare=False)
    by: list[str] = dataclasses.field(default_factory=list, kw_only=True)
    km: int = dataclasses.field(default=0, kw_only=True)


def test_fast_construction_supports_keyword_only_and_default_fields():
    trip = Trip(Point(1))
    assert (trip.by, trip.km, trip.seen) == ([], 0, [])
    assert trip.seen is not Trip(Point(1)).seen
    assert trip.by is not Trip(Point(1)).by
    assert Trip(Point(1), by=["bus"], km=2).by == ["bus"]
    assert str(inspect.signature(Trip)) == (
        f"(start: {Point.__module__}.Point, *, by: list[str] = <factory>, km: int = 0) -> None"
    )
    with pytest.raises(TypeError, match="positional argument"):
        Trip(Point(1), ["bus"])  # type: ignore[call-arg]

    class Named(Trip):
        name = "a"

    assert (Named(Point(1), km=3).km, Named(Point(1)).seen) == (3, [])


def test_a_fast_value_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc]


def test_a_subclass_of_a_fast_value_is_also_fast():
    class Named(Point):
        name = "a"

    assert (Named(1, y=3).y, Named(1).name, type(Named(1))) == (3, "a", Named)


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="Spent has no field 'tries'"):
        replace(Spent(), tries=1)  # type: ignore[call-arg]


def test_every_kind_of_value_is_copied_like_a_dataclass():
    for value in (Call(AttemptKind.INITIAL, State.REQUEST, 60), Wait(1.0), Hold(), ChatResponse("a"), Policy()):
        assert replace(value) == value
        assert type(replace(value)) is type(value)


def test_a_string_becomes_its_enumeration_member_and_a_list_a_tuple():
    """Programs outside have plain words and lists, as JSON gives them."""
    call = ToolCall("c1", "add", {"a": 1}, issue="truncated")  # type: ignore[arg-type]
    assert call.issue is CallIssue.TRUNCATED
    said = Message("assistant", "Hm.", [call])  # type: ignore[arg-type]
    assert (said.role, said.tool_calls) == (Role.ASSISTANT, (call,))
    answer = ChatResponse(None, [call], stop_reason="tool_call")  # type: ignore[arg-type]
    assert (answer.text, answer.tool_calls, answer.stop_reason) == ("", (call,), NormalizedStopReason.TOOL_CALL)
    error = ProviderError("timeout", "timeout", "late", stop_reason="cancelled")  # type: ignore[arg-type]
    assert (error.type, error.stop_reason) == (ErrorType.TIMEOUT, NormalizedStopReason.CANCELLED)


def test_a_policy_of_strings_judges_like_one_of_enumeration_members():
    policy = Policy(
        error_policy=ErrorPolicy(on_tool_error="retry", max_retries=2),  # type: ignore[arg-type]
        tool_calls_on_truncation="repair",  # type: ignore[arg-type]
        finish_reasons=["paused"],  # type: ignore[arg-type]
    )
    assert policy.error_policy.on_tool_error is ErrorHandlingDecision.RETRY
    assert policy.tool_calls_on_truncation is OnTruncation.REPAIR
    assert policy.finish_reasons == (NormalizedStopReason.PAUSED,)


def test_a_string_that_is_no_member_is_refused_where_it_is_given():
    with pytest.raises(ValueError, match="robot"):
        Message("robot")  # type: ignore[arg-type]


def test_every_dialect_sends_a_message_of_strings_like_one_of_members():
    plain = ChatRequest("m", [Message("user", "Hi"), Message("assistant", "Ho")], 9)  # type: ignore[arg-type]
    members = ChatRequest("m", (Message(Role.USER, "Hi"), Message(Role.ASSISTANT, "Ho")), 9)
    for provider in PROVIDERS.values():
        assert provider.encode_request(plain) == provider.encode_request(members)


def test_a_turn_of_plain_strings_runs_and_verifies():
    setup = Setup("t", "openai", "m", 9, tools=[ToolSpec("add", "adds", {})])  # type: ignore[arg-type]
    asked = Started(0.0, setup, [Message("user", "Hi")])  # type: ignore[arg-type]
    wants = ChatResponse(tool_calls=[ToolCall("c1", "add")], stop_reason="tool_call")  # type: ignore[arg-type]
    result = ToolResult("c1", "add", "late", "timeout")  # type: ignore[arg-type]
    events = (asked, ModelResponded(1.0, wants), ToolsReturned(2.0, [result]))  # type: ignore[arg-type]
    policy, snapshot, records = Policy(error_policy=ErrorPolicy.retry_all()), Snapshot(), []
    for seq, event in enumerate(events, start=1):
        step = advance(snapshot, event, policy)
        records.append(Record.of(seq, event, step))
        snapshot = step.snapshot
    assert snapshot.state is State.REQUEST
    assert verify(Recording(policy, Snapshot(), records)).verified  # type: ignore[arg-type]


def test_converted_values_stay_unchanged():
    """A copy is not settled again; so settling must have nothing left to do."""
    for value in (
        Message(Role.USER, "Hi"),
        ChatResponse("a"),
        Policy(),
        ErrorPolicy.retry_all(),
        Setup("t", "p", "m", 9),
    ):
        assert dataclasses.replace(value) == value == replace(value)
