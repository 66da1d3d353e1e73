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
    ("BadRequestError", "You have reached your specified API usage limits.", None),
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
