"""Every function and method of the public surface refuses what its arguments cannot be, by the argument's name."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import agentcore
from agentcore import (
    AgentErrorContextResolver,
    ContinuationCriteria,
    ContinuationEvaluation,
    CoreError,
    ErrorContext,
    ErrorPolicy,
    ErrorType,
    Policy,
    Recording,
    Snapshot,
    TokenUsage,
    WokeUp,
    recording_to_json,
)
from agentcore.argument_validation import door
from agentcore.messages import ChatRequest, Message, Role
from agentcore.providers import PROVIDERS, Provider
from tests.together import together

TOLD = Recording(Policy(), Snapshot(), ())
OUTCOME = ContinuationCriteria().evaluate(Snapshot())
#: Right arguments of each function and method that a stranger may call, by its name; what is left out has a default.
RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "AgentErrorContextResolver.resolve": (AgentErrorContextResolver().resolve, {"state": Snapshot()}),
    **{
        f"ContinuationCriteria.{name}": (getattr(ContinuationCriteria(), name), {"state": Snapshot()})
        for name in ("ask", "can_continue", "decide", "evaluate")
    },
    "ContinuationEvaluation.from_decision": (
        ContinuationEvaluation.from_decision,
        {"criterion": "Mine", "decision": "allow"},
    ),
    "ContinuationOutcome.get_evaluation_for": (OUTCOME.get_evaluation_for, {"name": "Mine"}),
    "ErrorPolicy.configured": (ErrorPolicy().configured, {"error": ErrorType.TOOL}),
    "ErrorPolicy.evaluate": (ErrorPolicy().evaluate, {"context": ErrorContext.none()}),
    "ErrorPolicy.retry_all": (ErrorPolicy.retry_all, {"max_retries": 1}),
    "ErrorPolicy.retry_tool_errors": (ErrorPolicy.retry_tool_errors, {"max_retries": 1}),
    "ErrorPolicy.with_max_retries": (ErrorPolicy().with_max_retries, {"max_retries": 1}),
    "ErrorPolicy.with_tool_error_handling": (ErrorPolicy().with_tool_error_handling, {"decision": "retry"}),
    "TokenUsage.is_at": (TokenUsage().is_at, {"cap": 10}),
    "advance": (agentcore.advance, {"snapshot": Snapshot(), "event": WokeUp(1.0), "policy": Policy()}),
    "merge_continuation": (
        agentcore.merge_continuation,
        {"existing": "a", "addition": "b", "min_overlap": 12, "trimmed": False},
    ),
    "recording_from_json": (agentcore.recording_from_json, {"data": recording_to_json(TOLD), "like": Policy()}),
    "recording_to_json": (recording_to_json, {"recording": TOLD}),
    "verdict": (agentcore.verdict, {"snapshot": Snapshot()}),
    "verify": (agentcore.verify, {"recording": TOLD}),
    "what_if": (
        agentcore.what_if,
        {"recording": TOLD, "policy": Policy(), "trace": True, "experience": agentcore.Experience()},
    ),
}
#: What only this package calls, with values that it has made itself.
OURS = {
    "ContinuationEvaluation.by",
    "ContinuationOutcome.told_later",
    "ContinuationOutcome.decided_now",
    "Record.of",
    "Setup.asking",
}
ARGUMENTS = [(name, argument) for name, (_, right) in RIGHT.items() for argument in right]
#: The same of a codec; the payload of `decode_response` may be any JSON, which is the provider's fault where it is not
#: the dialect's, and a header may have any value.
CODEC: dict[str, dict[str, Any]] = {
    "path": {"request": ChatRequest("m", (Message(Role.USER, "Hi"),), 60)},
    "headers": {"api_key": "sk-1"},
    "encode_request": {"request": ChatRequest("m", (Message(Role.USER, "Hi"),), 60)},
    "decode_response": {"payload": {}, "max_tokens": 60},
    "decode_error": {"status": 500, "headers": {}, "body": b""},
    "stream_decoder": {"max_tokens": 60},
    "normalize": {"raw": "stop"},
}


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in agentcore.__all__:
        public = getattr(agentcore, name)
        if inspect.isfunction(public):
            yield name, public
        elif inspect.isclass(public):
            for method, function in inspect.getmembers(public, callable):
                if not method.startswith("_") and not any(method in vars(base) for base in (str, BaseException)):
                    yield f"{name}.{method}", function


def arguments_of(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self"}


def test_the_table_lists_every_public_function_and_all_its_arguments():
    taking = {name: arguments for name, function in public_functions() if (arguments := arguments_of(function))}
    assert {name: set(right) for name, (_, right) in RIGHT.items()} == {
        name: arguments for name, arguments in taking.items() if name not in OURS
    }
    assert taking.keys() >= OURS
    for name, right in CODEC.items():
        assert arguments_of(getattr(Provider, name)) == set(right)


@together
@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_a_function_refuses_an_invalid_argument_by_name(name: str, argument: str):
    function, right = RIGHT[name]
    function_or_refusal(function, right)
    for wrong in (object(), b"bytes", -1.5, [object()]):
        with pytest.raises(CoreError, match=rf"\b{argument}\b.* must be "):
            function(**{**right, argument: wrong})


@pytest.mark.parametrize("name", [name for name in RIGHT if "." not in name])
def test_a_function_refuses_an_unknown_argument_and_lists_the_known_ones(name: str):
    function, right = RIGHT[name]
    with pytest.raises(CoreError, match=rf"^{name}: .*'limit'.* It takes {next(iter(right))}"):
        function(**right, limit=3)
    with pytest.raises(CoreError, match=rf"^{name}: missing .*'{next(iter(right))}'"):
        function()


@pytest.mark.parametrize("made", [Policy, agentcore.Limits, agentcore.ErrorPolicy, TokenUsage, agentcore.Experience])
def test_a_value_refuses_an_unknown_argument_and_lists_the_known_ones(made: Callable[..., Any]):
    with pytest.raises(CoreError, match=rf"^{made.__name__} has no argument max_token. It takes \w+, "):
        made(max_token=3)


def test_a_turn_does_not_start_without_a_message():
    with pytest.raises(CoreError, match=r"^Started: messages must be a list that is not empty, not an empty one"):
        agentcore.Started(0.0, agentcore.Setup("turn", "openai", "m", 10), ())


def test_an_error_inside_a_function_is_not_reported_as_an_argument_error():
    def careless(value: int) -> int:
        return value + "1"

    with pytest.raises(TypeError) as caught:
        door(careless)(1)
    assert not isinstance(caught.value, CoreError)


def function_or_refusal(function: Callable[..., Any], right: dict[str, Any]) -> None:
    """The right arguments are refused by no argument's name; an idle machine may take no event."""
    try:
        function(**right)
    except CoreError as error:
        assert " must be " not in str(error)  # noqa: PT017


@together
@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("method", CODEC)
def test_a_codec_refuses_an_invalid_argument_by_name(name: str, method: str):
    function, right = getattr(PROVIDERS[name], method), CODEC[method]
    for argument in right.keys() - {"payload"}:
        for wrong in (object(), [object()], "text" if argument not in {"raw", "api_key"} else b"text"):
            with pytest.raises(CoreError, match=rf"^{argument} must be "):
                function(**{**right, argument: wrong})


@together
@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("payload", [None, 3, "text", object(), [object()]], ids=lambda given: type(given).__name__)
def test_a_payload_of_another_dialect_is_the_providers_fault(name: str, payload: Any):
    with pytest.raises(CoreError, match="The provider answered with JSON that is no "):
        PROVIDERS[name].decode_response(payload)
