"""Whose failure it was: providers and frameworks in their own words."""

from typing import Any

import pytest

from dashboard.ingest.conventions.failures import loop_failure_of
from dashboard.ingest.conventions.observations import LoopFailure
from dashboard.ingest.conventions.spans import Span, SpanEvent

#: The exception's class, its message, and the kind of the provider's error.
OF_PROVIDERS = [
    (
        "openai.RateLimitError",
        "Error code: 429 - {'error': {'message': 'Request limit reached for gpt-4o in organization org-1 on requests "
        "per min (RPM): Limit 3, Used 3.', 'type': 'requests', 'code': 'rate_limit_exceeded'}}",
        "rate_limit",
    ),
    ("", "429 - Request limit reached", "rate_limit"),
    # As Anthropic's client for JavaScript, and Mistral's for Python, say it.
    ("BadRequestError", '400 {"type":"error","error":{"type":"invalid_request_error"}}', "invalid_request"),
    ("mistralai.client.errors.SDKError", "API error occurred: Status 400. Body: {}", "invalid_request"),
    ("RateLimitError", "Usage limit reached for this month.", "rate_limit"),
    (
        "anthropic.BadRequestError",
        "Error code: 400 - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'You have reached "
        "your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.'}}",
        "invalid_request",
    ),
    ("BadRequestError", "You have reached your specified API usage limits.", "invalid_request"),
    (
        "google.genai.errors.ClientError",
        "429 RESOURCE_EXHAUSTED. {'error': {'code': 429, 'message': 'You exceeded your current quota. Quota exceeded "
        "for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 20'}}",
        "rate_limit",
    ),
    (
        "google.genai.errors.ServerError",
        "503 UNAVAILABLE. {'error': {'code': 503, 'message': 'The model is overloaded. Please try again later.'}}",
        "unavailable",
    ),
    ("", "400 tokens were refused.", None),
    (
        "botocore.errorfactory.ThrottlingException",
        "An error occurred (ThrottlingException) when calling the Converse operation (reached max retries: 4): Too "
        "many requests, please wait before trying again.",
        "rate_limit",
    ),
    (
        "botocore.exceptions.ClientError",
        "An error occurred (RequestLimitExceeded) when calling the InvokeModel operation: Request limit exceeded.",
        None,
    ),
    (
        "openai.RateLimitError",
        "Error code: 429 - {'error': {'code': '429', 'message': 'Requests to the ChatCompletions_Create Operation "
        "under Azure OpenAI API have exceeded call rate limit of your current OpenAI S0 pricing tier.'}}",
        "rate_limit",
    ),
    ("litellm.exceptions.Timeout", "litellm.Timeout: Connection timed out. Max retries reached.", "timeout"),
]
#: The exception's class and its message.
OF_FRAMEWORKS = [
    ("agents.exceptions.MaxTurnsExceeded", "Max turns (10) exceeded"),
    ("", "MaxTurnsExceeded: Max turns (10) exceeded"),
    ("langgraph.errors.GraphRecursionError", "Recursion limit of 25 reached without hitting a stop condition."),
    ("", "Recursion limit of 25 reached without hitting a stop condition."),
    ("pydantic_ai.exceptions.UsageLimitExceeded", "The next request would exceed the request_limit of 50"),
    ("UsageLimitExceeded", "Exceeded the total_tokens_limit of 4000 (total_tokens=4120)"),
    ("", "The next tool call(s) would exceed the tool_calls_limit of 3 (tool_calls=4)."),
    ("smolagents.utils.AgentMaxStepsError", "Reached max steps."),
    ("google.adk.invocation_context.LlmCallsLimitExceededError", "Max number of llm calls limit of `5` exceeded"),
    ("llama_index.core.workflow.errors.WorkflowRuntimeError", "Max iterations of 20 reached! Either something went "),
    ("ModelCallLimitExceededError", "Model call limits exceeded: run limit (3/3)"),
    ("ToolCallLimitExceededError", "Tool call limit reached: run limit exceeded (3/2 calls)."),
    ("haystack.core.errors.PipelineMaxComponentRuns", "Maximum run count 100 reached for component 'llm'"),
    # A limit of the loop that quotes a status is the loop's all the same.
    ("MaxTurnsExceeded", "Max turns (3) exceeded; last answer: Error code: 429"),
]  # fmt: skip


def failed(name: str, message: str) -> LoopFailure:
    attributes: dict[str, Any] = {"exception.message": message}
    if name:
        attributes["exception.type"] = name
    event = SpanEvent("exception", attributes)
    found = loop_failure_of(Span("1" * 32, "2" * 16, "", "agent", 1, 2, events=(event,), failed=True, message=message))
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "message", "kind"), OF_PROVIDERS)
def test_a_provider_limit_is_not_a_loop_limit(name: str, message: str, kind: str | None) -> None:
    found = failed(name, message)
    assert (found.is_limit, found.error and found.error.kind) == (False, kind)


@pytest.mark.parametrize(("name", "message"), OF_FRAMEWORKS)
def test_a_framework_limit_is_a_loop_limit(name: str, message: str) -> None:
    found = failed(name, message)
    assert (found.is_limit, found.error) == (True, None)


def test_the_cause_that_a_stack_trace_names_tells_the_kind_of_a_wrapped_error() -> None:
    """As OpenInference for BeeAI (0.1) writes an error that BeeAI wraps."""
    cause = "openai.RateLimitError: Error code: 429 - Rate limit reached for m"
    caused = "\n\nThe above exception was the direct cause of the following exception:\n\n"
    beside = "\n\nDuring handling of the above exception, another exception occurred:\n\n"
    for between, kind in ((caused, "rate_limit"), (beside, None)):
        trace = (
            f"Traceback (most recent call last):\n  File\n{cause}{between}Traceback:\nerrors.ChatModelError: No answer"
        )
        told = {"exception.type": "ChatModelError", "exception.message": "No answer", "exception.stacktrace": trace}
        event = SpanEvent("exception", told)
        found = loop_failure_of(Span("1" * 32, "2" * 16, "", "agent", 1, 2, events=(event,), failed=True))
        assert found is not None
        assert (found.error and found.error.kind) == kind
        if found.error is not None:
            assert found.error.message == f"No answer (caused by {cause})"


@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        (
            "litellm.BadRequestError",
            "litellm.BadRequestError: OpenAIException - Invalid 'max_tokens'",
            "invalid_request",
        ),
        (
            "botocore.errorfactory.ValidationException",
            "An error occurred (ValidationException) when calling the Converse operation: max_tokens is too large.",
            "invalid_request",
        ),
        ("ClientError", "ClientError: 400 INVALID_ARGUMENT. {'error': {'code': 400}}", "invalid_request"),
        ("pydantic_core.ValidationError", "1 validation error for Settings", None),
    ],
)
def test_an_error_without_its_status_is_known_by_its_class(name: str, message: str, kind: str | None) -> None:
    found = failed(name, message)
    assert (found.error and found.error.kind) == kind
