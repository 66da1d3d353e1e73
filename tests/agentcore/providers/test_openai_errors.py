import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import ErrorType, ProviderError
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

OPENAI = get_provider("openai")


def decode(status: int, /, error: object = None, headers: dict[str, str] | None = None, **fields) -> ProviderError:
    body = {"error": {**fields}} if error is None else error
    return OPENAI.decode_error(status, headers or {}, json.dumps(body).encode())


@together
@pytest.mark.parametrize(
    ("status", "kind", "error_type", "retryable"),
    [
        (400, "invalid_request", ErrorType.MODEL, False),
        (401, "auth", ErrorType.MODEL, False),
        (402, "quota", ErrorType.MODEL, False),
        (403, "auth", ErrorType.MODEL, False),
        (404, "not_found", ErrorType.MODEL, False),
        (408, "timeout", ErrorType.TIMEOUT, True),
        (409, "invalid_request", ErrorType.MODEL, True),
        (413, "too_large", ErrorType.MODEL, False),
        (422, "invalid_request", ErrorType.MODEL, False),
        (429, "rate_limit", ErrorType.RATE_LIMIT, True),
        (498, "overloaded", ErrorType.MODEL, True),
        (500, "server", ErrorType.MODEL, True),
        (502, "server", ErrorType.MODEL, True),
        (503, "unavailable", ErrorType.MODEL, True),
        (504, "timeout", ErrorType.TIMEOUT, True),
        (524, "timeout", ErrorType.TIMEOUT, True),
        (529, "overloaded", ErrorType.MODEL, True),
    ],
)
def test_every_status_has_a_kind_a_type_and_retryability(status, kind, error_type, retryable):
    assert decode(status, message="x", code="c") == ProviderError(
        error_type, kind, "x", status, "c", retryable=retryable
    )


@pytest.mark.parametrize("status", [401, 429, 500])
def test_the_providers_retry_advice_takes_precedence(status):
    assert decode(status, message="x", headers={"X-Should-Retry": "true"}).retryable
    assert not decode(status, message="x", headers={"x-should-retry": "false"}).retryable


@together
@pytest.mark.parametrize(
    "code",
    [
        "insufficient_quota",
        "billing_hard_limit_reached",
        "credit_balance_exhausted",
        "daily_spend_limit_exceeded",
        1113,
        "1310",
    ],
)
def test_an_exhausted_quota_is_not_retryable(code):
    error = decode(429, message="x", code=code)
    assert (error.kind, error.type, error.retryable, error.code) == ("quota", ErrorType.RATE_LIMIT, False, str(code))


CONTEXT_MESSAGES = [
    "This model's maximum context length is 4097 tokens. However, you requested 5000 tokens",
    "This endpoint's maximum context length is 200000 tokens. However, you requested about 2500021 tokens",
    "request (2009 tokens) exceeds the available context size (512 tokens), try increasing it",
    "Your input exceeds the context window of this model.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "prompt too long; exceeded max context length by 12 tokens",
    "input length and `max_tokens` exceed context limit: 1 + 2 > 2",
    "Input is too long for requested model.",
    "Input Tokens Exceeded",
    "too many tokens: size limit exceeded by 12 tokens",
    "The input token count exceeds the maximum number of tokens allowed",
    "The total length of all messages is too long",
    "Please reduce the length of the messages.",
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
    "maximum prompt length is 8192",
    "Current length is 9000 while limit is 8192",
    "max_tokens must be at least 1, got -48.",
    "the prompt is longer than the context length currently available",
]


@together
@pytest.mark.parametrize("message", CONTEXT_MESSAGES)
@pytest.mark.parametrize("status", [400, 413])
def test_a_full_context_is_a_stop_reason(status, message):
    error = decode(status, message=message, type="invalid_request_error")
    assert (error.kind, error.stop_reason, error.retryable) == ("context_length", Reason.CONTEXT_WINDOW_EXCEEDED, False)


@pytest.mark.parametrize(
    "fields",
    [{"code": "context_length_exceeded"}, {"type": "exceed_context_size_error"}, {"type": "too_many_prompt_tokens"}],
)
def test_the_code_alone_identifies_a_full_context(fields):
    assert decode(400, message="no", **fields).stop_reason is Reason.CONTEXT_WINDOW_EXCEEDED


@together
@pytest.mark.parametrize(
    ("status", "fields"),
    [
        (400, {"message": "string too long, reduce the length", "code": "string_above_max_length"}),
        (400, {"message": "max_tokens must be at least 1, got 0."}),
        (400, {"message": "max_tokens is too large: 100000. This model supports at most 4096 completion tokens"}),
        (429, {"message": "Too many tokens, please wait before trying again."}),
        (401, {"message": "maximum context length"}),
    ],
)
def test_a_message_that_resembles_a_full_context_is_not_one(status, fields):
    assert decode(status, **fields).stop_reason is None


def test_a_rate_limit_error_may_mean_that_the_prompt_is_too_long():
    error = decode(429, message="The input token count exceeds the maximum number of tokens allowed (100)")
    assert (error.kind, error.stop_reason) == ("context_length", Reason.CONTEXT_WINDOW_EXCEEDED)


def test_a_cap_too_small_for_any_output_is_max_tokens():
    text = (
        "Could not finish the message because max_tokens or model output limit was reached. "
        "Please try again with higher max_tokens."
    )
    error = decode(400, message=text, type="invalid_request_error")
    assert (error.kind, error.stop_reason, error.retryable) == ("max_tokens", Reason.MAX_TOKENS, False)


@together
@pytest.mark.parametrize(
    ("status", "fields"),
    [
        (400, {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}),
        (400, {"code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}),
        (400, {"code": "content_policy_violation"}),
        (400, {"code": "invalid_prompt"}),
        (400, {"metadata": {"error_type": "content_policy_violation"}}),
        (403, {"code": 403, "metadata": {"flagged_input": "…", "reasons": ["violence"]}}),
        (200, {"code": "content_filter", "status": 400}),
    ],
)
def test_a_blocked_prompt_is_a_stop_reason(status, fields):
    error = decode(status, message="filtered", **fields)
    assert (error.kind, error.stop_reason, error.retryable) == ("content_policy", Reason.SAFETY_BLOCKED, False)
    assert error.status in (400, 403)


@together
@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"error": {"message": "no", "code": None, "type": "invalid_request_error"}}, "no", "invalid_request_error"),
        ({"error": "no"}, "no", None),
        ({"object": "error", "message": "no", "type": "t", "code": 3051}, "no", "3051"),
        ({"message": "no"}, "no", None),
        ({"detail": "no"}, "no", None),
        ({"detail": [{"loc": ["body"], "msg": "no"}]}, '[{"loc": ["body"], "msg": "no"}]', None),
        ([{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}], "no", "400"),
        (
            {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": "no"}}},
            "Provider returned error; no",
            "400",
        ),
        ({"error": {"code": 400, "type": "BadRequestError", "message": "no"}}, "no", "BadRequestError"),
        ({"error": {}}, '{"error": {}}', None),
    ],
)
def test_the_message_is_found_in_every_known_position(body, message, code):
    error = decode(400, body)
    assert (error.message, error.code) == (message, code)


def test_an_error_event_of_a_stream_that_never_started_is_read():
    body = b': busy\n\nevent: error\ndata: {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}\n\n'
    error = OPENAI.decode_error(429, {}, body)
    assert (error.type, error.message, error.code) == (ErrorType.RATE_LIMIT, "slow down", "rate_limit_exceeded")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html><head><title>502 Bad\n Gateway</title></head></html>", "502 Bad Gateway"),
        (b"upstream connect error", "upstream connect error"),
        (b"", "The body is empty."),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_a_body_that_is_not_json_still_gives_a_message(body, message):
    error = OPENAI.decode_error(502, {}, body)
    assert (error.kind, error.message, error.retryable) == ("server", message, True)


@together
@pytest.mark.parametrize("body", [b"<html><title>Sign in</title></html>", b"", b"{}", b'{"choices": []}', b"[]"])
def test_a_success_response_of_another_dialect_is_a_validation_error(body):
    error = OPENAI.decode_error(200, {}, body)
    assert (error.type, error.kind, error.status) == (ErrorType.VALIDATION, "not_dialect", 200)


def test_the_text_of_a_503_tells_whether_the_server_is_overloaded():
    assert decode(503, message="The engine is currently overloaded").kind == "overloaded"


def test_a_wait_is_read_from_every_spelling_of_the_headers_and_from_googles_body():
    assert decode(429, message="x", headers={"Retry-After-Ms": "1500", "Retry-After": "9"}).retry_after == 1.5
    google = {"details": [{"@type": "x"}, {"@type": "RetryInfo", "retryDelay": "17.5s"}]}
    assert decode(429, message="x", **google).retry_after == 17.5
    endless = {"details": [{"@type": "RetryInfo", "retryDelay": f"{'9' * 400}s"}]}
    assert decode(429, message="x", **endless).retry_after is None
    assert decode(429, message="x", headers={"retry-after": "2"}, **google).retry_after == 2.0
    dated = {"Retry-After": "Sun, 06 Nov 1994 08:49:47 GMT", "DATE": "Sun, 06 Nov 1994 08:49:37 GMT"}
    assert decode(503, message="x", headers=dated).retry_after == 10.0


def test_a_delay_given_only_in_a_rate_limit_message_is_used():
    said = "Rate limit reached for gpt-4o. Please try again in 1.5s. Visit https://platform.openai.com."
    assert decode(429, message=said).retry_after == 1.5
    assert decode(429, message=said, headers={"Retry-After": "9"}).retry_after == 9.0
    assert decode(429, message=said, details=[{"retryDelay": "17s"}]).retry_after == 17.0
    assert decode(429, message=said, code="insufficient_quota").retry_after is None
    assert decode(500, message=said).retry_after is None


def test_a_rate_limit_inside_a_stream_gives_its_delay_in_its_message():
    error = {"code": "rate_limit_exceeded", "message": "Rate limit reached. Please try again in 11.054s."}
    decoder = OPENAI.stream_decoder()
    decoder.feed(b"data: " + json.dumps({"error": error}).encode() + b"\n\n")
    found = decoder.close().error
    assert found is not None
    assert (found.kind, found.retry_after) == ("rate_limit", 11.054)


@together
@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"code": "rate_limit_exceeded"}, "rate_limit"),
        ({"type": "overloaded_error"}, "overloaded"),
        ({"metadata": {"error_type": "provider_unavailable"}}, "unavailable"),
        ({"metadata": {"error_type": "timeout"}}, "timeout"),
        ({"type": "authentication_error"}, "auth"),
        ({"code": "model_not_found"}, "not_found"),
        ({"type": "invalid_request_error"}, "invalid_request"),
        ({"code": "anything"}, "server"),
        ({"code": 529}, "overloaded"),
        ({"status_code": 404}, "not_found"),
    ],
)
def test_codes_inside_a_stream_replace_the_status(fields, kind):
    response = OPENAI.decode_response({"error": {"message": "x", **fields}})
    assert response.error.kind == kind


@together
@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("server_error", "server", True),
        ("vector_store_timeout", "timeout", True),
        ("rate_limit_exceeded", "rate_limit", True),
        ("provider_overloaded", "overloaded", True),
        ("anything", "server", True),
        ("invalid_request_error", "invalid_request", False),
        ("tool_use_failed", "invalid_request", False),
        ("precondition_failed", "invalid_request", False),
        ("string_too_long", "invalid_request", False),
        ("max_tokens_exceeded", "invalid_request", False),
        ("invalid_image_url", "invalid_request", False),
        ("payload_too_large", "too_large", False),
        ("authentication", "auth", False),
        ("permission_denied", "auth", False),
        ("not_found", "not_found", False),
        ("payment_required", "quota", False),
        ("insufficient_quota", "quota", False),
    ],
)
def test_permanent_errors_inside_a_stream_are_not_retryable(code, kind, retryable):
    error = OPENAI.decode_response({"error": {"message": "x", "code": code}}).error
    assert (error.kind, error.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"error": {"code": "1261", "message": "Prompt exceeds max length"}}, Reason.CONTEXT_WINDOW_EXCEEDED),
        ({"error": {"code": "1301", "message": "sensitive content"}}, Reason.SAFETY_BLOCKED),
        ({"error": {"code": "image_content_policy_violation", "message": "x"}}, Reason.SAFETY_BLOCKED),
        ({"error": "This model's maximum prompt length is 131072", "code": "bad"}, Reason.CONTEXT_WINDOW_EXCEEDED),
    ],
)
def test_vendor_specific_codes_may_be_stop_reasons(body, reason):
    assert decode(400, body).stop_reason is reason


WORDS = ["error", "message", "code", "type", "metadata", "raw", "detail", "details", "innererror", "status", "object"]
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(WORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(
    st.integers(100, 599),
    st.dictionaries(st.sampled_from(["Retry-After", "Date", "retry-after-ms"]), st.text()),
    SHAPES,
)
def test_any_error_body_gives_an_error(status, headers, body):
    error = OPENAI.decode_error(status, headers, json.dumps(body).encode())
    assert error.message
    error.message.encode()
    assert error.retry_after is None or error.retry_after >= 0
