"""continuation-and-error-policy: which type a failure is, from what really failed."""

import pytest

from agentcore import ErrorType
from agentcore.providers import PROVIDERS
from dashboard.turns.selectors import outcomes_of
from tests.agentcore.playbook import Playbook, call, called, started, tools_returned
from tests.dashboard.driving import Play
from tests.spec.continuation_and_error_policy.outcomes import evaluation
from tests.spec.rules import rule
from tests.together import together

TYPE = "continuation-and-error-policy §ErrorType"
BODY = b'{"error": {"message": "No.", "type": "t", "code": null}}'


@rule(
    TYPE,
    "A provider's rate limit is `rate_limit`, a request that took too long is `timeout`, any other error is `model`",
)
@together
@pytest.mark.parametrize("provider", list(PROVIDERS))
@pytest.mark.parametrize(
    ("status", "error"),
    [(429, ErrorType.RATE_LIMIT), (408, ErrorType.TIMEOUT), (504, ErrorType.TIMEOUT), (500, ErrorType.MODEL)],
)
def test_a_status_determines_the_type(provider: str, status: int, error: ErrorType) -> None:
    assert PROVIDERS[provider].decode_error(status, {}, BODY).type is error


@rule(TYPE, "Invalid arguments of a tool call are a tool error")
def test_invalid_arguments_are_a_tool_error() -> None:
    story = Playbook() >> started() >> called(call(wrong=1)) >> tools_returned()
    context = evaluation(story, "ErrorPolicyCriterion").context
    assert (context["errorType"], context["toolName"]) == ("tool", "calculator")


@rule(TYPE, "An unreadable response is `validation`; each HTTP failure has its type")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("model", "error"), [("sim-html", "validation"), ("sim-429", "rate_limit"), ("sim-500", "model")]
)
def test_a_failed_call_is_judged_by_its_type(play: Play, model: str, error: str) -> None:
    assert {outcome.error_type for outcome in outcomes_of(play(model).id)} >= {error}
