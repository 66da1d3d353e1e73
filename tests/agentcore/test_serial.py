"""Values to JSON and back, equal (design §2: the history is the truth)."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore import (
    AttemptKind,
    ChatResponse,
    ErrorHandlingDecision,
    ErrorPolicy,
    ErrorType,
    Limits,
    Message,
    NormalizedStopReason,
    Policy,
    ProviderError,
    RecordingError,
    Role,
    Snapshot,
    TokenUsage,
    ToolCall,
    ToolSpec,
)
from agentcore.criteria.builtin import FinishReasonCheck
from agentcore.events import (
    Approvals,
    Breakpoint,
    CancelRequested,
    ChangedCall,
    Interrupted,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    OperatorAction,
    Otherwise,
    Setup,
    Started,
    ToolResult,
    ToolsReturned,
    WokeUp,
)
from agentcore.messages import CallIssue, ReasonSighting
from agentcore.policy import CriterionSpec, EnvelopeRules, OnTruncation, RecoveryPath
from agentcore.serial import (
    command_to_json,
    event_from_json,
    event_to_json,
    policy_from_json,
    snapshot_from_json,
    to_json,
    type_name,
)
from agentcore.states import State, Trigger
from tests.agentcore.machine.stories import STORIES
from tests.agentcore.playbook import Playbook, call, called, started, truncated
from tests.together import together

words = st.text(max_size=6)
maybe_word = st.none() | words
numbers = st.integers(0, 2**40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
mappings = st.dictionaries(words, json_values, max_size=3)
reasons = st.sampled_from(NormalizedStopReason)
usages = st.builds(TokenUsage, numbers, numbers, numbers, numbers)
issues = st.none() | st.sampled_from(CallIssue)
calls = st.builds(ToolCall, words, words, mappings, words, issues, st.booleans(), st.booleans())
tuples_of_calls = st.lists(calls, max_size=2).map(tuple)
errors = st.builds(
    ProviderError,
    st.sampled_from(ErrorType),
    words,
    words,
    st.none() | st.integers(100, 599),
    maybe_word,
    st.none() | st.floats(0, 1e6),
    st.none() | reasons,
    st.booleans(),
)
sightings = st.builds(ReasonSighting, words, maybe_word, reasons, st.integers(-5, 5))
responses = st.builds(
    ChatResponse,
    text=words,
    tool_calls=tuples_of_calls,
    broken_tool_calls=tuples_of_calls,
    usage=st.none() | usages,
    reasoning_content=words,
    quota_metadata=st.none() | mappings,
    stop_reason=reasons,
    raw_stop_reason=maybe_word,
    reason_trail=st.lists(sightings, max_size=2).map(tuple),
    refusal=maybe_word,
    diagnostics=st.lists(words, max_size=2).map(tuple),
    provider=words,
    model=words,
    response_id=maybe_word,
    incomplete_stream=st.booleans(),
    error=st.none() | errors,
    resume_token=maybe_word,
    echo=json_values,
    answered_by=words,
)
messages = st.builds(Message, st.sampled_from(Role), words, tuples_of_calls, maybe_word, json_values)
tuples_of_messages = st.lists(messages, max_size=2).map(tuple)
specs = st.builds(ToolSpec, words, words, mappings)
setups = st.builds(
    Setup,
    turn_id=words,
    provider=words,
    model=words,
    max_tokens=numbers,
    system_prompt=words,
    tools=st.lists(specs, max_size=2).map(tuple),
    envelope_schema=st.none() | mappings,
    ceiling=st.none() | numbers,
    context_window=st.none() | numbers,
    output_floor=numbers,
    extra=mappings,
    approvals=st.none()
    | st.builds(
        Approvals, st.lists(words, max_size=2).map(tuple), st.none() | st.floats(0, 1e6), st.sampled_from(Otherwise)
    ),
)
breakpoints = st.builds(
    Breakpoint,
    st.none() | st.sampled_from([state.value for state in State]),
    st.none() | st.sampled_from([trigger.value for trigger in Trigger]),
    st.none() | st.sampled_from([reason.value for reason in NormalizedStopReason]),
    maybe_word,
    st.none() | st.floats(0, 1),
)
results = st.builds(ToolResult, words, words, words, st.none() | st.sampled_from(ErrorType))
moments = st.floats(0, 1e9)
draws = st.floats(0, 1, exclude_max=True)
events = st.one_of(
    st.builds(
        Started,
        moments,
        setups,
        st.lists(messages, min_size=1, max_size=2).map(tuple),
        st.lists(breakpoints, max_size=2).map(tuple),
    ),
    st.builds(ModelResponded, moments, responses, draws),
    st.builds(ModelFailed, moments, errors, st.none() | responses, draws),
    st.builds(Interrupted, moments, st.none() | responses),
    st.builds(ToolsReturned, moments, st.lists(results, max_size=2).map(tuple)),
    st.builds(WokeUp, moments),
    st.builds(
        OperatorActed,
        at=moments,
        by=words,
        action=st.sampled_from(OperatorAction),
        limits=mappings,
        error_policy=mappings,
        max_tokens=st.none() | numbers,
        model=maybe_word,
        system_prompt=maybe_word,
        messages=st.none() | tuples_of_messages,
        tool_result=st.none() | results,
        breakpoints=st.none() | st.lists(breakpoints, max_size=2).map(tuple),
        run_to=maybe_word,
        tool_call=st.none() | st.builds(ChangedCall, words, mappings),
        answer=st.none() | responses,
    ),
    st.builds(CancelRequested, moments, words, st.none() | responses),
)
decisions = st.sampled_from(ErrorHandlingDecision)
policies = st.builds(
    Policy,
    limits=st.builds(
        Limits,
        numbers,
        st.none() | numbers,
        numbers,
        numbers,
        numbers,
        st.none() | numbers,
        st.none() | moments,
        numbers,
    ),
    error_policy=st.builds(ErrorPolicy, *[decisions] * 6, numbers),
    tool_calls_on_truncation=st.sampled_from(OnTruncation),
    finish_reasons=st.lists(reasons, max_size=2).map(tuple),
    criterion_specs=st.lists(st.builds(CriterionSpec, words, mappings), max_size=2).map(tuple),
    envelope=st.builds(EnvelopeRules, st.lists(st.sampled_from(RecoveryPath), max_size=3).map(tuple)),
    max_tokens=st.none() | numbers,
    system_prompt=maybe_word,
    model=maybe_word,
    min_overlap=numbers,
    max_retry_after=moments,
)


def through_text(data):
    return json.loads(json.dumps(data))


@given(events)
def test_every_event_reads_back_equal(event):
    assert event_from_json(through_text(event_to_json(event))) == event


@given(policies)
def test_every_policy_reads_back_equal(policy):
    assert policy_from_json(through_text(to_json(policy))) == policy


@together
@pytest.mark.parametrize("story", STORIES)
def test_the_snapshots_of_every_scenario_read_back_equal(story):
    for step in story().steps:
        stored = through_text(to_json(step.snapshot))
        assert snapshot_from_json(stored) == step.snapshot
        assert through_text(to_json(snapshot_from_json(stored))) == stored


def test_an_empty_string_is_not_the_same_as_none():
    event = ModelResponded(1.0, ChatResponse(raw_stop_reason="", refusal="", echo=[]))
    assert event_from_json(through_text(event_to_json(event))) == event


def test_empty_defaults_are_omitted():
    assert event_to_json(WokeUp(1.0)) == {"type": "woke_up", "at": 1.0}
    assert event_to_json(Interrupted(1.0)) == {"type": "interrupted", "at": 1.0}
    assert event_to_json(Interrupted(1.0, lost="Gone.")) == {"type": "interrupted", "at": 1.0, "lost": "Gone."}
    assert to_json(Message(Role.USER, "hi")) == {"role": "user", "text": "hi"}
    assert to_json(Snapshot())["state"] == "idle"


def test_callables_are_not_written_into_a_stored_policy():
    stored = to_json(replace(Playbook().policy, criteria=(FinishReasonCheck(),), repair=str))
    assert not {"validate", "repair", "criteria"} & set(stored)


def test_a_policy_stored_before_rules_existed_reads_with_the_default_rules():
    stored = to_json(Policy())
    del stored["envelope"]
    assert policy_from_json(stored) == Policy()


@together
@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        None,
        "started",
        {"type": "exploded", "at": 1.0},
        {"type": None},
        {"type": ["started"]},
        {"type": "woke_up"},
        {"type": "woke_up", "at": 1.0, "mood": "good"},
        {"type": "started", "at": 1.0, "setup": None, "messages": None},
        {"type": "started", "at": 1.0, "setup": {"turn_id": "x"}, "messages": []},
        {"type": "model_responded", "at": 1.0, "response": {"stop_reason": "tired"}},
        {"type": "model_responded", "at": 1.0, "response": {"tool_calls": 7}},
        {"type": "operator_acted", "at": 1.0, "by": "x", "action": "dance"},
    ],
)
def test_unreadable_input_raises_a_recording_error(data):
    with pytest.raises(RecordingError):
        event_from_json(data)


@given(json_values)
def test_no_json_at_all_breaks_the_reader(data):
    for read in (event_from_json, policy_from_json, snapshot_from_json):
        with suppress(RecordingError):
            read(data)


def test_a_recorded_command_refers_to_content_already_in_the_history():
    story = Playbook(system_prompt="p") >> started("a very long question") >> truncated("a long answer")
    written = command_to_json(story.command)
    assert written["type"] == "call_model"
    assert written["kind"] == AttemptKind.CONTINUATION
    assert written["request"]["messages"] == 1
    assert written["request"]["tools"] == ["calculator", "clock"]
    assert written["request"]["continuation"]["characters"] == len("a long answer")
    assert "question" not in json.dumps(written)
    assert command_to_json((Playbook() >> started() >> called(call())).command)["type"] == "run_tools"


def test_type_names_are_class_names_in_snake_case():
    assert type_name(ModelResponded) == "model_responded"
    assert type_name(WokeUp) == "woke_up"


def test_a_large_schema_is_written_without_a_copy_of_it():
    schema = {"type": "object", "$defs": {f"a{n}": {"type": "string"} for n in range(3)}}
    setup = Setup(turn_id="t", provider="p", model="m", max_tokens=1, tools=(ToolSpec("look", "", schema),))
    extra = {"response_format": {"type": "json_schema", "json_schema": {"name": "e", "schema": schema}}}
    written = to_json(replace(setup, envelope_schema=schema, extra=extra))
    assert written["tools"][0]["schema"] is written["envelope_schema"] is schema
    assert written["extra"] is extra


@pytest.mark.parametrize("odd", [-1, 0, 2.5, 10**18])
def test_a_stored_policy_may_have_numbers_that_are_not_allowed_today(odd):
    stored = to_json(Policy()) | {"limits": {"max_continuations": odd, "max_total_output_chars": odd}}
    assert policy_from_json(stored).limits.max_continuations == odd


@pytest.mark.parametrize("odd", ["12", None, True, [], {}, 10**400, float("nan"), float("inf")], ids=repr)
def test_a_stored_policy_with_a_non_numeric_value_is_refused_by_name(odd):
    """It was read, and raised a `TypeError` where it was first calculated with."""
    stored = to_json(Policy()) | {"limits": {"max_continuations": odd}}
    with pytest.raises(RecordingError, match=r"policy's limits\.max_continuations is not of the type or size"):
        policy_from_json(stored)


def test_an_operators_event_names_the_cap_only_where_it_is_removed():
    """Releases that do not know the field refuse every event that has it."""
    plain = {"type": "operator_acted", "at": 1.0, "by": "ada", "action": "change"}
    assert event_to_json(OperatorActed(1.0, "ada")) == plain
    assert event_to_json(OperatorActed(1.0, "ada", uncapped=False)) == plain
    assert event_to_json(OperatorActed(1.0, "ada", uncapped=True)) == {**plain, "uncapped": True}
