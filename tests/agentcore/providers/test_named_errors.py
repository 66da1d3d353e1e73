"""Errors of Anthropic and of AWS, whichever of the two codecs reads them."""

import json

import pytest

from agentcore.errors import ErrorType
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

TYPES = [
    (400, "invalid_request_error", ErrorType.MODEL, "invalid_request", False),
    (401, "authentication_error", ErrorType.MODEL, "auth", False),
    (402, "billing_error", ErrorType.MODEL, "quota", False),
    (403, "permission_error", ErrorType.MODEL, "auth", False),
    (404, "not_found_error", ErrorType.MODEL, "not_found", False),
    (413, "request_too_large", ErrorType.MODEL, "context_length", False),
    (429, "rate_limit_error", ErrorType.RATE_LIMIT, "rate_limit", True),
    (500, "api_error", ErrorType.MODEL, "server", True),
    (504, "timeout_error", ErrorType.TIMEOUT, "timeout", True),
    (529, "overloaded_error", ErrorType.MODEL, "overloaded", True),
]
EXCEPTIONS = [
    (400, "ValidationException", ErrorType.MODEL, "invalid_request", False),
    (400, "ServiceQuotaExceededException", ErrorType.MODEL, "quota", False),
    (400, "ThrottlingException", ErrorType.RATE_LIMIT, "rate_limit", True),
    (403, "AccessDeniedException", ErrorType.MODEL, "auth", False),
    (403, "ExpiredTokenException", ErrorType.MODEL, "auth", False),
    (404, "ResourceNotFoundException", ErrorType.MODEL, "not_found", False),
    (408, "ModelTimeoutException", ErrorType.TIMEOUT, "timeout", True),
    (424, "ModelErrorException", ErrorType.MODEL, "server", True),
    (424, "ModelStreamErrorException", ErrorType.MODEL, "server", True),
    (429, "ModelNotReadyException", ErrorType.RATE_LIMIT, "unavailable", True),
    (429, "ThrottlingException", ErrorType.RATE_LIMIT, "rate_limit", True),
    (500, "InternalServerException", ErrorType.MODEL, "server", True),
    (503, "ServiceUnavailableException", ErrorType.MODEL, "unavailable", True),
]


def decode(status: int, body: object, headers: dict[str, str] | None = None, provider: str = "anthropic"):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return get_provider(provider).decode_error(status, headers or {}, raw)


@together
@pytest.mark.parametrize(("status", "name", "type", "kind", "retryable"), TYPES)
def test_an_anthropic_error_type_means_the_same_with_its_status_and_inside_a_200(status, name, type, kind, retryable):
    body = {"type": "error", "error": {"type": name, "message": "No."}, "request_id": "req_1"}
    for told in (status, 200):
        error = decode(told, body)
        assert (error.type, error.kind, error.retryable) == (type, kind, retryable)
        assert (error.code, error.message, error.status) == (name, "No.", told)
    (inside := get_provider("anthropic").stream_decoder()).feed(f"event: error\ndata: {json.dumps(body)}\n\n".encode())
    found = inside.close().error
    assert found is not None
    assert (found.type, found.kind, found.retryable) == (type, kind, retryable)


@together
@pytest.mark.parametrize(("status", "name", "type", "kind", "retryable"), EXCEPTIONS)
def test_an_exception_of_aws_is_named_by_its_header_or_its_body(status, name, type, kind, retryable):
    headers = {"X-Amzn-Errortype": f"{name}:http://internal.amazon.com/coral/com.amazon.bedrock/"}
    for provider in ("anthropic", "bedrock"):
        for body, sent in (
            ({"message": "No."}, headers),
            ({"__type": f"com.amazon.coral.service#{name}", "Message": "No."}, {}),
            ({name: {"message": "No."}}, {}),
        ):
            error = decode(status, body, sent, provider)
            assert (error.type, error.kind, error.retryable) == (type, kind, retryable)
            assert (error.code, error.message, error.status) == (name, "No.", status)


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 3333404 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "Input is too long for requested model.",
        "The model returned the following errors: Input Tokens Exceeded: Number of input tokens is high.",
    ],
)
def test_a_prompt_that_does_not_fit_the_context_is_a_stop_reason(message):
    anthropic = decode(400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})
    bedrock = decode(400, {"message": message}, {"x-amzn-errortype": "ValidationException"}, "bedrock")
    for error in (anthropic, bedrock):
        assert (error.kind, error.retryable) == ("context_length", False)
        assert error.stop_reason is Reason.CONTEXT_WINDOW_EXCEEDED


def test_a_token_rate_limit_is_not_a_full_context():
    error = decode(429, {"message": "Too many tokens, please wait before trying again."}, provider="bedrock")
    assert (error.type, error.stop_reason) == (ErrorType.RATE_LIMIT, None)


def test_exhausted_credit_is_not_retryable():
    said = {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}
    error = decode(400, {"type": "error", "error": said})
    assert (error.kind, error.retryable) == ("quota", False)


def test_a_more_specific_code_is_reported():
    said = {"type": "rate_limit_error", "message": "No.", "details": {"error_code": "workspace_spend_limit_exceeded"}}
    error = decode(429, {"type": "error", "error": said})
    assert (error.type, error.kind, error.code, error.retryable) == (
        ErrorType.RATE_LIMIT,
        "quota",
        "workspace_spend_limit_exceeded",
        False,
    )


def test_the_headers_decide_whether_and_when_to_retry():
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "No."}}
    assert decode(429, body, {"Retry-After": "12"}).retry_after == 12
    assert decode(429, body, {"X-Should-Retry": "false"}).retryable is False
    assert decode(400, body, {"x-should-retry": "true"}).retryable is True


def test_the_status_of_the_upstream_model_is_reported():
    said = {"modelStreamErrorException": {"message": "No.", "originalStatusCode": 503, "originalMessage": "x"}}
    error = decode(200, said, provider="bedrock")
    assert (error.status, error.kind) == (503, "server")


@together
@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
@pytest.mark.parametrize(
    ("status", "body", "type", "kind", "said"),
    [
        (200, b"<html><title>Sign in</title></html>", ErrorType.VALIDATION, "not_dialect", "Sign in"),
        (200, b"", ErrorType.VALIDATION, "not_dialect", "The body is empty."),
        (200, b'{"message": "ok"}', ErrorType.VALIDATION, "not_dialect", "ok"),
        (502, b"<html><title>Bad gateway</title></html>", ErrorType.MODEL, "server", "Bad gateway"),
        (404, b"", ErrorType.MODEL, "not_found", "The body is empty."),
        (500, b'{"error": "It broke"}', ErrorType.MODEL, "server", "It broke"),
        (400, b"[1]", ErrorType.MODEL, "invalid_request", "[1]"),
    ],
)
def test_a_body_of_another_shape_is_reported_in_short(provider, status, body, type, kind, said):
    error = decode(status, body, provider=provider)
    assert (error.type, error.kind, error.status) == (type, kind, status)
    assert said in error.message


def test_a_long_message_is_cut():
    assert len(decode(400, {"message": "x" * 9000}, provider="bedrock").message) == 2000
