"""Wrong input at the public door: always a `CoreError` that names the argument and says what is expected."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from types import MappingProxyType
from typing import Any

import pytest

import agentcore
from agentcore import (
    AgentErrorContextResolver,
    Breakpoint,
    CancelRequested,
    ChangedCall,
    ChatRequest,
    ChatResponse,
    ContinuationCriteria,
    ContinuationDecision,
    CoreError,
    ErrorContext,
    ErrorPolicy,
    ErrorType,
    Experience,
    Limits,
    Message,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    Policy,
    ProviderError,
    Record,
    Recording,
    Role,
    Setup,
    Snapshot,
    Started,
    TokenUsage,
    ToolCall,
    ToolResult,
    ToolSpec,
    ToolsReturned,
    WokeUp,
    WrongInput,
    advance,
    jsonschema_rs_validator,
    merge_continuation,
    recording_from_json,
    recording_to_json,
    serial,
    values,
    verdict,
    verify,
    what_if,
)
from agentcore.argument_validation import unchecked
from agentcore.criteria.builtin import (
    ErrorPolicyCriterion,
    FinishReasonCheck,
    ResponseContentCheck,
    StepsLimit,
    WantsMore,
)
from agentcore.policy import CriterionSpec, EnvelopeRules
from agentcore.providers import PROVIDERS, get_provider
from agentcore.replay import Observed, fold, fork
from tests.together import together

SETUP = Setup("turn", "openai", "m", 10)
ASKED = (Message(Role.USER, "hi"),)
TOLD = Recording(Policy(), Snapshot(), ())


NAN, INF = float("nan"), float("inf")
VALIDATE = jsonschema_rs_validator()
BEGUN = advance(Snapshot(), Started(0.0, SETUP, ASKED), Policy())


def asking(**given: Any) -> Setup:
    return Setup("turn", "openai", "m", 10, **given)


def within_itself() -> dict[str, Any]:
    settings: dict[str, Any] = {}
    settings["again"] = [settings, settings]
    return settings


class Always:
    def decide(self, state: Snapshot) -> ContinuationDecision:
        return ContinuationDecision.ALLOW


#: What makes one right value of each class that is strict.
RIGHT: dict[type, dict[str, Any]] = {
    Limits: {},
    ErrorPolicy: {},
    Policy: {},
    EnvelopeRules: {},
    CriterionSpec: {"path": "a.B"},
    ErrorContext: {"type": ErrorType.TOOL, "consecutive_failures": 1, "total_failures": 1},
    Setup: {"turn_id": "t", "provider": "openai", "model": "m", "max_tokens": 10},
    Breakpoint: {},
    Message: {"role": Role.USER},
    ToolCall: {"id": "a", "name": "b"},
    ToolSpec: {"name": "a", "description": "b", "schema": {}},
    ChatRequest: {"model": "m", "messages": ASKED, "max_tokens": 10},
    ChatResponse: {},
    TokenUsage: {},
    ProviderError: {"type": ErrorType.MODEL, "kind": "server", "message": "no"},
    Started: {"at": 0.0, "setup": SETUP, "messages": ASKED},
    ModelResponded: {"at": 1.0, "response": ChatResponse("hi")},
    ModelFailed: {"at": 1.0, "error": ProviderError(ErrorType.MODEL, "server", "no")},
    ToolResult: {"call_id": "a", "name": "b", "content": "c"},
    ToolsReturned: {"at": 1.0},
    WokeUp: {"at": 1.0},
    OperatorActed: {"at": 1.0, "by": "ada"},
    Recording: {"policy": Policy(), "base_snapshot": Snapshot(), "records": ()},
    CancelRequested: {"at": 1.0},
    Observed: {"p95": 12.0, "calls": 41},
    Experience: {},
    FinishReasonCheck: {},
    ErrorPolicyCriterion: {},
    ResponseContentCheck: {"wants_more": bool, "message": "More."},
    WantsMore: {},
}
EVERY_FIELD = [(cls, f.name) for cls in RIGHT for f in fields(cls) if f.init and str(f.type).split(".")[-1] != "Any"]
#: What a stranger may give by mistake, none of which is right anywhere a function stands beside it.
TABLE: dict[str, tuple[Callable[[], object], str, str]] = {
    "dicts for messages": (lambda: ChatRequest("m", ({"role": "user"},), 10), "messages", "Message"),  # type: ignore[arg-type]
    "a text for messages": (lambda: ChatRequest("m", "hi", 10), "messages", "Message"),  # type: ignore[arg-type]
    "a text for a number": (lambda: Limits(max_steps="20"), "max_steps", "whole number"),  # type: ignore[arg-type]
    "a truth for a number": (lambda: Limits(max_steps=True), "max_steps", "whole number"),
    "half a step": (lambda: Limits(max_steps=1.5), "max_steps", "whole number"),  # type: ignore[arg-type]
    "a negative limit": (lambda: Limits(max_seconds=-1.0), "max_seconds", "at least 0"),
    "no number": (lambda: Limits(max_seconds=float("nan")), "max_seconds", "at least 0"),
    "a multiplier below 1": (lambda: Limits(truncation_budget_multiplier=0.5), "multiplier", "from 1 to 8"),
    "a multiplier above 8": (lambda: Limits(truncation_budget_multiplier=9), "multiplier", "from 1 to 8"),
    "a result that is not text": (lambda: ToolResult("a", "add", 42), "content", "text"),  # type: ignore[arg-type]
    "results that are texts": (lambda: ToolsReturned(1.0, ("42",)), "results", "ToolResult"),  # type: ignore[arg-type]
    "an unknown role": (lambda: Message("nobody", "hi"), "role", "user"),  # type: ignore[arg-type]
    "an unknown reason": (lambda: Policy(finish_reasons=("full",)), "finish_reasons", "max_tokens"),  # type: ignore[arg-type]
    "letters for tools": (lambda: Setup("t", "openai", "m", 9, tools="add"), "tools", "ToolSpec"),  # type: ignore[arg-type]
    "a dict for limits": (lambda: Policy(limits={"max_steps": 3}), "limits", "Limits"),  # type: ignore[arg-type]
    "no criterion": (lambda: Policy(criteria=(print,)), "criteria", "decide"),  # type: ignore[arg-type]
    "no criterion to ask": (lambda: ContinuationCriteria(3), "criteria", "decide"),  # type: ignore[arg-type]
    "a class for a criterion": (lambda: Policy(criteria=(Always,)), "criteria", "the class Always"),  # type: ignore[arg-type]
    "a class to ask": (lambda: ContinuationCriteria(Always), "criteria", "the class Always"),  # type: ignore[arg-type]
    "rules to come": (lambda: Policy(revision=99), "revision", "from 0 to"),
    "a policy's JSON": (lambda: Recording({}, Snapshot(), ()), "policy", "Policy"),  # type: ignore[arg-type]
    "records as JSON": (lambda: Recording(Policy(), Snapshot(), ({},)), "records", "Record"),  # type: ignore[arg-type]
    "a record of nothing": (lambda: Record(1, None), "event", "Started"),  # type: ignore[arg-type]
    "a record's place as text": (lambda: Record("1", WokeUp(1.0)), "seq", "at least 1"),  # type: ignore[arg-type]
    "a text for transitions": (lambda: Record(1, WokeUp(1.0), "x"), "transitions", "tuple"),  # type: ignore[arg-type]
    "a text for a command": (lambda: Record(1, WokeUp(1.0), (), "x"), "command", "Mapping"),  # type: ignore[arg-type]
    "a recording as text": (lambda: recording_from_json("{}"), "data", "Mapping"),  # type: ignore[arg-type]
    "a validator's name": (lambda: Policy(validate="jsonschema"), "validate", "function"),  # type: ignore[arg-type]
    "a resolving function": (lambda: Policy(resolver=print), "resolver", "resolve"),  # type: ignore[arg-type]
    "negative retries": (lambda: ErrorPolicy.retry_all(-1), "max_retries", "at least 0"),
    "an unknown handling": (lambda: ErrorPolicy("never"), "on_tool_error", "retry"),  # type: ignore[arg-type]
    "no context": (lambda: ErrorPolicy().evaluate("tool"), "context", "ErrorContext"),  # type: ignore[arg-type]
    "no snapshot": (lambda: advance({}, WokeUp(1.0), Policy()), "snapshot", "Snapshot"),  # type: ignore[arg-type]
    "no event": (lambda: advance(Snapshot(), {"type": "woke_up"}, Policy()), "event", "Started"),  # type: ignore[arg-type]
    "no policy": (lambda: advance(Snapshot(), WokeUp(1.0), {}), "policy", "Policy"),  # type: ignore[arg-type]
    "nothing to verify": (lambda: verify({"records": []}), "recording", "Recording"),  # type: ignore[arg-type]
    "nothing to ask": (lambda: what_if([], Policy()), "recording", "Recording"),  # type: ignore[arg-type]
    "limits for a policy": (lambda: what_if(TOLD, Limits()), "policy", "Policy"),  # type: ignore[arg-type]
    "no experience": (lambda: what_if(TOLD, Policy(), experience=3), "experience", "Experience"),  # type: ignore[arg-type]
    "a number for an observed figure": (lambda: Experience(repeats=5), "repeats", "Observed"),  # type: ignore[arg-type]
    "a word for a figure": (lambda: Observed("12", 41), "p95", "number"),  # type: ignore[arg-type]
    "no trace": (lambda: what_if(TOLD, Policy(), trace="no"), "trace", "bool"),  # type: ignore[arg-type]
    "nothing to fold": (lambda: fold(None), "recording", "Recording"),  # type: ignore[arg-type]
    "a text for a record": (lambda: fork(TOLD, "2", Policy(), "t"), "seq", "int"),  # type: ignore[arg-type]
    "nothing to write": (lambda: recording_to_json({}), "recording", "Recording"),  # type: ignore[arg-type]
    "like nothing": (lambda: recording_from_json(recording_to_json(TOLD), {}), "like", "Policy"),  # type: ignore[arg-type]
    "no turn": (lambda: verdict(None), "snapshot", "Snapshot"),  # type: ignore[arg-type]
    "nothing to merge": (lambda: merge_continuation(None, "b"), "existing", "str"),  # type: ignore[arg-type]
    "a negative overlap": (lambda: merge_continuation("a", "b", min_overlap=-1), "min_overlap", "at least 0"),
    "time without end": (lambda: ModelResponded(float("inf"), ChatResponse("x")), "at", "from 0 to"),
    "bytes to merge": (lambda: merge_continuation("a", b"b"), "addition", "str"),  # type: ignore[arg-type]
    "a number that no float holds": (lambda: Limits(max_seconds=10**400), "max_seconds", "9,007,199,254,740,992 or"),
    "a number of too many digits": (lambda: Limits(max_steps=10**5000), "max_steps", "more than 40 digits"),
    "such a number in arguments": (lambda: ToolCall("a", "b", {"c": [10**5000]}), "arguments", "more than 40 digits"),
    "such a number of retries": (lambda: ErrorPolicy.retry_all(10**400), "max_retries", "whole number from 0 to"),
    "a limit for a criterion": (lambda: StepsLimit(5), "StepsLimit", "1 too many"),  # type: ignore[call-arg]
    "a named one": (lambda: StepsLimit(max_steps=5), "max_steps", "takes none"),  # type: ignore[call-arg]
    "one argument too many": (lambda: WokeUp(1.0, 2.0), "WokeUp", "1 too many. It takes at."),  # type: ignore[call-arg]
    "a word that is no reason": (lambda: FinishReasonCheck(("x",)), "reasons", "one of end_turn"),  # type: ignore[arg-type]
    "an object in settings": (lambda: asking(extra={"x": object()}), "extra", "JSON"),
    "no number in settings": (lambda: asking(extra={"temperature": NAN}), "extra", "one with nan"),
    "no number in a list": (lambda: asking(extra={"a": [1, {"b": INF}]}), "extra", "one with inf"),
    "a number for a key": (lambda: asking(extra={"a": {1: 2}}), "extra", "string keys"),
    "settings within themselves": (lambda: asking(extra=within_itself()), "extra", "JSON"),
    "no number in an envelope": (lambda: asking(envelope_schema={"x": NAN}), "envelope_schema", "JSON"),
    "no number in a tool": (lambda: ToolSpec("a", "b", {"x": NAN}), "schema", "JSON"),
    "bytes in arguments": (lambda: ToolCall("a", "b", {"x": b""}), "arguments", "JSON"),
    "a set in other arguments": (lambda: ChangedCall("a", {"x": {1}}), "arguments", "JSON"),
    "an object in an error's context": (lambda: ErrorContext("tool", 1, 1, metadata={"x": SETUP}), "metadata", "JSON"),  # type: ignore[arg-type]
    "an object in a request": (lambda: ChatRequest("m", ASKED, 10, extra={"x": object()}), "extra", "JSON"),
    "no number for a limit": (lambda: OperatorActed(1.0, "ada", limits={"max_steps": NAN}), "limits", "JSON"),
    "an object for a criterion": (lambda: CriterionSpec("a.B", {"x": object()}), "kwargs", "JSON"),
    "an object to send back": (lambda: Message(Role.USER, "hi", echo=object()), "echo", "JSON"),
    "no number to send back": (lambda: ChatResponse("hi", echo=[NAN]), "echo", "JSON"),
    "a wait in the past": (
        lambda: ProviderError("model", "server", "no", retry_after=-1.0),
        "retry_after",
        "at least 0",
    ),  # type: ignore[arg-type]
    "a wait of no time": (lambda: ProviderError("model", "server", "no", retry_after=NAN), "retry_after", "at least 0"),  # type: ignore[arg-type]
    "a wait without end": (
        lambda: ProviderError("model", "server", "no", retry_after=INF),
        "retry_after",
        "from 0 to",
    ),  # type: ignore[arg-type]
    "a negative status": (lambda: ProviderError("model", "server", "no", status=-1), "status", "at least 0"),  # type: ignore[arg-type]
    "nowhere to hold": (lambda: Breakpoint(state="nowhere"), "state", "continue_pending"),
    "no move to hold by": (lambda: Breakpoint(trigger="magic"), "trigger", "max_tokens"),
    "no reason to hold at": (lambda: Breakpoint(stop_reason="full"), "stop_reason", "max_tokens"),
    "a text for a record's number": (lambda: Record.of("1", WokeUp(1.0), BEGUN), "seq", "whole number"),  # type: ignore[arg-type]
    "record nought": (lambda: Record.of(0, WokeUp(1.0), BEGUN), "seq", "at least 1"),
    "no event to record": (lambda: Record.of(1, {}, BEGUN), "event", "Started"),  # type: ignore[arg-type]
    "no step to record": (lambda: Record.of(1, WokeUp(1.0), None), "step", "Step"),  # type: ignore[arg-type]
    "no provenance": (lambda: Record.of(1, WokeUp(1.0), BEGUN, "bogus"), "provenance", "Provenance"),  # type: ignore[arg-type]
    "a text for a schema": (lambda: VALIDATE("x", 1), "schema", "JSON Schema"),  # type: ignore[arg-type]
    "a schema of no type": (lambda: VALIDATE({"type": "bogus"}, 1), "schema", "JSON Schema"),
    "an object in a schema": (lambda: VALIDATE({"x": object()}, 1), "schema", "JSON Schema"),
    "no number in a schema": (lambda: VALIDATE({"x": NAN}, 1), "schema", "JSON Schema"),
    "a schema elsewhere": (lambda: VALIDATE({"$ref": "http://a.b/c"}, 1), "schema", "refers to"),
    "an object to judge": (lambda: VALIDATE({}, object()), "value", "JSON"),
    "a list for a provider": (lambda: get_provider(["openai"]), "provider", "openai"),  # type: ignore[arg-type]
}


@together
@pytest.mark.parametrize("case", TABLE)
def test_wrong_input_is_refused_with_the_argument_name_and_the_expected_type(case):
    wrong, name, expected = TABLE[case]
    with pytest.raises(CoreError) as raised:
        wrong()
    assert name in str(raised.value)
    assert expected in str(raised.value)


@together
@pytest.mark.parametrize(("cls", "name"), EVERY_FIELD, ids=lambda given: getattr(given, "__name__", given))
def test_no_field_accepts_an_impossible_value(cls, name):
    for wrong in (object(), -1.5, 10**9 + 0.5, b"bytes", [object()], 10**400, 10**5000, -(10**5000)):
        if isinstance(wrong, float) and "float" in str(cls.__annotations__[name]) and wrong > 0:
            continue  # a right number
        with pytest.raises(WrongInput, match=rf"{cls.__name__}: {name} must be "):
            cls(**{**RIGHT[cls], name: wrong})


@together
@pytest.mark.parametrize("name", PROVIDERS)
def test_a_codec_encodes_requests_and_nothing_else(name):
    with pytest.raises(WrongInput, match="request must be a ChatRequest, not a dict"):
        PROVIDERS[name].encode_request({"model": "m"})  # type: ignore[arg-type]


def test_every_class_constructed_by_callers_is_strict():
    made_by_us = {"Assumption", "Merge", "Record", "Snapshot", "Step", "Transition"}
    made_by_us |= {"Verification", "WhatIf", "CallModel", "RunTools", "Wait", "Hold", "Finish", "Observation"}
    judged_where_asked = {"ContinuationEvaluation", "ContinuationOutcome"}
    loose = {
        name
        for name in agentcore.__all__
        if is_dataclass(made := getattr(agentcore, name)) and "__unchecked__" not in made.__dict__ and fields(made)
    }
    assert loose == made_by_us | judged_where_asked


def test_a_strict_constructor_accepts_whatever_the_ordinary_one_accepts():
    assert list(inspect.signature(Limits).parameters) == [f.name for f in fields(Limits)]
    assert Message("user", "hi") == Message(Role.USER, "hi")  # type: ignore[arg-type]
    assert Started(0.0, SETUP, [Message("user", "hi")]).messages == ASKED  # type: ignore[arg-type]
    assert Limits(max_seconds=3).max_seconds == 3
    assert Policy(resolver=AgentErrorContextResolver()) == Policy()


def test_stored_values_can_be_read_however_invalid_they_are():
    stored = serial.to_json(Policy())
    stored["limits"]["max_continuations"] = -1
    assert serial.policy_from_json(stored).limits.max_continuations == -1
    assert unchecked(Limits)(max_steps="20").max_steps == "20"  # type: ignore[comparison-overlap]


@together
@pytest.mark.parametrize("cls", RIGHT)
def test_a_missing_argument_is_named(cls):
    for name in [f.name for f in fields(cls) if f.init and f.default is MISSING and f.default_factory is MISSING]:
        with pytest.raises(WrongInput, match=rf"^{cls.__name__}: {name} is missing. It takes "):
            cls(**{given: value for given, value in RIGHT[cls].items() if given != name})


def test_a_history_with_unknown_enumeration_values_is_read_unchanged():
    old = unchecked(Breakpoint)(state="nowhere")
    stored = serial.event_to_json(unchecked(Started)(at=0.0, setup=SETUP, messages=ASKED, breakpoints=(old,)))
    assert serial.event_from_json(stored).breakpoints == (old,)  # type: ignore[union-attr]


def test_json_of_any_shape_is_accepted():
    given = MappingProxyType({"list": [None, True, 1, 0.5, "a", ("b",)], "deep": deep(900), "word": Role.USER})
    assert Setup("turn", "openai", "m", 10, extra=given).extra == given


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


def test_a_copy_of_an_old_value_is_not_validated():
    old = unchecked(Limits)(max_continuations=-1)
    assert values.replace(old, max_steps=3).max_continuations == -1


def test_a_refused_event_changes_nothing():
    begun = advance(Snapshot(), Started(0.0, SETUP, ASKED), Policy()).snapshot
    with pytest.raises(WrongInput):
        advance(begun, "answered", Policy())  # type: ignore[arg-type]
    assert begun == advance(Snapshot(), Started(0.0, SETUP, ASKED), Policy()).snapshot
