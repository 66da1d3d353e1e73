"""One whole answer of the Responses API: what its items say beside its status."""

import json

import pytest

from agentcore.errors import DecodeError, ErrorType
from agentcore.messages import CallIssue, ChatResponse, TokenUsage
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

RESPONSES = get_provider("openai_responses")


def answer(*output, status="completed", reason=None, cap=None, spent=None, **fields) -> ChatResponse:
    body = {"id": "resp_1", "object": "response", "model": "m-1", "status": status, "output": list(output), **fields}
    body["incomplete_details"] = reason and {"reason": reason}
    if spent is not None:
        body["usage"] = {"input_tokens": 5, "output_tokens": spent, "total_tokens": 5 + spent}
    return RESPONSES.decode_response(body, max_tokens=cap)


def message(text, status="completed", **fields):
    return {
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [{"type": "output_text", "text": text}],
        **fields,
    }


def call(arguments, call_id="c1", status="completed", **fields):
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "look"}
    return {**item, "arguments": arguments, "status": status, **fields}


def test_a_plain_answer_is_read_completely():
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 16,
    }
    response = answer(message("Hello."), usage=usage)
    assert response == ChatResponse(
        text="Hello.",
        usage=TokenUsage(9, 7, 5, 4),
        stop_reason=Reason.END_TURN,
        raw_stop_reason="completed",
        reason_trail=response.reason_trail,
        provider="openai_responses",
        model="m-1",
        response_id="resp_1",
    )


WORDS = [
    ("completed", None, Reason.END_TURN, "completed"),
    ("complete", None, Reason.END_TURN, "complete"),
    ("incomplete", "max_output_tokens", Reason.MAX_TOKENS, "max_output_tokens"),
    ("incomplete", "content_filter", Reason.SAFETY_BLOCKED, "content_filter"),
    ("incomplete", "steered", Reason.CANCELLED, "steered"),
    ("incomplete", "max_messages", Reason.UNKNOWN, "max_messages"),
    ("incomplete", "solar_flare", Reason.UNKNOWN, "solar_flare"),
    ("incomplete", None, Reason.UNKNOWN, "incomplete"),
    ("completed", "max_output_tokens", Reason.MAX_TOKENS, "max_output_tokens"),
    ("cancelled", None, Reason.CANCELLED, "cancelled"),
    ("queued", None, Reason.UNKNOWN, "queued"),
    ("in_progress", None, Reason.UNKNOWN, "in_progress"),
    ("failed", None, Reason.UNKNOWN, "failed"),
    (" Completed\n", None, Reason.END_TURN, " Completed\n"),
    ("resting", None, Reason.UNKNOWN, "resting"),
    ("", None, Reason.UNKNOWN, ""),
    (None, None, Reason.UNKNOWN, None),
]


@together
@pytest.mark.parametrize(("status", "reason", "normalized", "raw"), WORDS)
def test_every_status_and_reason_is_mapped_and_kept(status, reason, normalized, raw):
    response = answer(message("Some text"), status=status, reason=reason)
    assert (response.stop_reason, response.raw_stop_reason) == (normalized, raw)
    assert response.text == "Some text"
    assert not response.incomplete_stream
    if raw:
        assert RESPONSES.normalize(raw) is normalized


@together
@pytest.mark.parametrize(
    "word", ["failed", "queued", "in_progress", "incomplete", "max_messages", "vector_store_timeout", "", None]
)
def test_unmapped_stop_reasons_are_unknown(word):
    assert RESPONSES.normalize(word) is Reason.UNKNOWN


# Parts ---------------------------------------------------------------------------------------------------------------


def test_a_refusal_is_kept_separately_and_overrides_the_status():
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "I can't help with that."}]}
    response = answer(refusal)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.SAFETY_BLOCKED, "completed")
    assert (response.refusal, response.text, response.diagnostics) == ("I can't help with that.", "", ("relabelled",))


def test_reasoning_is_kept_separately_as_thought_or_else_as_summary():
    summary = [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}]
    thought = [{"type": "reasoning_text", "text": "Hm."}]
    first = {"type": "reasoning", "id": "rs_1", "summary": summary}
    response = answer(first, {**first, "content": thought}, message("So."))
    assert (response.text, response.reasoning_content) == ("So.", "First.\n\nThen.\n\nHm.")


def test_content_may_be_plain_text():
    assert answer({"type": "message", "content": "Hi"}).text == "Hi"


@pytest.mark.parametrize(("status", "reason"), [("completed", None), ("incomplete", "max_output_tokens"), ("", None)])
def test_an_answer_without_output_has_a_diagnostic(status, reason):
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    assert answer(thought, status=status, reason=reason).diagnostics == ("empty_output",)


# Calls ---------------------------------------------------------------------------------------------------------------


def test_client_calls_make_a_natural_end_a_tool_call():
    response = answer(message("Now."), call('{"a": 1}'), call("", "c2"))
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, "completed")
    assert response.diagnostics == ()  # this API has no other word for it, so none was overridden
    assert [(c.id, c.arguments, c.raw, c.shown_whole) for c in response.tool_calls] == [
        ("c1", {"a": 1}, '{"a": 1}', True),
        ("c2", {}, "", True),
    ]


@together
@pytest.mark.parametrize("arguments", [[1], [], 0, 7, True, False])
def test_arguments_that_are_neither_text_nor_an_object_are_not_empty_arguments(arguments):
    response = answer(call(arguments))
    assert response.tool_calls == ()
    assert [c.issue for c in response.broken_tool_calls] == [CallIssue.MALFORMED]


def test_a_custom_call_has_its_text():
    item = {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"}
    (found,) = answer(item).tool_calls
    assert (found.name, found.raw, found.custom, found.arguments) == ("sql", "select 1", True, {})
    (cut,) = answer(item, status="incomplete", reason="max_output_tokens").broken_tool_calls
    assert cut.issue is CallIssue.TRUNCATED


@together
@pytest.mark.parametrize(
    "kind", ["computer_call", "shell_call", "local_shell_call", "apply_patch_call", "mcp_approval_request"]
)
def test_other_calls_that_wait_for_the_client_count_as_calls(kind):
    response = answer({"type": kind, "id": "x1", "call_id": "c1", "action": {"command": ["ls"]}})
    assert response.stop_reason is Reason.TOOL_CALL
    assert [c.name for c in response.tool_calls] == [kind]


@together
@pytest.mark.parametrize(
    "items",
    [
        [{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}],
        [{"type": "file_search_call", "id": "fs_1", "queries": ["x"], "results": []}],
        [{"type": "code_interpreter_call", "id": "ci_1", "code": "1+1"}],
        [{"type": "mcp_call", "id": "mcp_1", "name": "look", "arguments": "{}", "output": "seen"}],
        [{"type": "image_generation_call", "id": "ig_1", "result": "…"}],
        [{"type": "tool_search_call", "call_id": "t1"}, {"type": "tool_search_output", "call_id": "t1"}],
        [{"type": "shell_call", "call_id": "s1", "action": {}}, {"type": "shell_call_output", "call_id": "s1"}],
    ],
)
def test_calls_run_by_the_provider_do_not_count_but_are_sent_back(items):
    response = answer(*items, message("Done."))
    assert (response.stop_reason, response.tool_calls) == (Reason.END_TURN, ())
    assert response.echo[:-1] == items


@pytest.mark.parametrize("arguments", ['{"x":48151', "", "{", " "])
def test_a_call_cut_by_the_cap_is_truncated(arguments):
    response = answer(
        call("{}", "c0"), call(arguments, status="incomplete"), status="incomplete", reason="max_output_tokens"
    )
    assert [(c.id, c.issue, c.raw) for c in response.broken_tool_calls] == [("c1", CallIssue.TRUNCATED, arguments)]
    assert ([c.id for c in response.tool_calls], response.echo) == (["c0"], None)
    assert response.stop_reason is Reason.MAX_TOKENS


def test_a_call_that_closes_below_the_cap_is_complete():
    response = answer(call('{"a": 1}'), status="incomplete", reason="max_output_tokens", cap=16, spent=16)
    assert response.stop_reason is Reason.MAX_TOKENS
    assert response.tool_calls[0].shown_whole


def test_invalid_arguments_without_evidence_of_truncation_are_malformed():
    response = answer(call('{"a": '), cap=100, spent=20)
    assert (response.stop_reason, response.broken_tool_calls[0].issue) == (Reason.TOOL_CALL, CallIssue.MALFORMED)


@together
@pytest.mark.parametrize(
    ("output", "cap", "spent", "reason"),
    [
        ([message("Once upon")], 16, 16, Reason.MAX_TOKENS),
        ([message("Once upon")], 16, 15, Reason.END_TURN),
        ([message("Once upon")], None, 16, Reason.END_TURN),
        ([message("Once upon", status="incomplete")], None, None, Reason.MAX_TOKENS),
        ([call('{"a')], 16, 16, Reason.MAX_TOKENS),
        ([call('{"a": 1}')], 16, 16, Reason.TOOL_CALL),
    ],
)
def test_evidence_of_truncation_overrides_a_server_that_always_reports_completed(output, cap, spent, reason):
    response = answer(*output, cap=cap, spent=spent)
    assert (response.stop_reason, response.raw_stop_reason) == (reason, "completed")


def test_the_cap_may_be_read_from_the_answer():
    assert answer(message("Once"), spent=20, max_output_tokens=20).stop_reason is Reason.MAX_TOKENS


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [("incomplete", "steered", Reason.CANCELLED), ("incomplete", "content_filter", Reason.SAFETY_BLOCKED)],
)
def test_a_given_reason_is_kept_even_at_the_cap(status, reason, expected):
    assert answer(message("x"), status=status, reason=reason, cap=16, spent=16).stop_reason is expected


# What comes back -----------------------------------------------------------------------------------------------------


def test_an_answer_without_reasoning_needs_no_echo():
    assert answer(message("Hi"), call("{}")).echo is None
    assert answer(message("Hi", phase="final_answer")).echo == [message("Hi", phase="final_answer")]
    assert answer(call("{}", namespace="n")).echo == [call("{}", namespace="n")]


def test_truncated_reasoning_is_left_out_of_the_echo():
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    output = [thought, call("{}"), {**thought, "id": "rs_2"}]
    response = answer(*output, status="incomplete", reason="max_output_tokens")
    assert response.echo == [thought, call("{}")]
    assert answer({**thought, "status": "incomplete"}).echo is None


def test_a_call_without_an_id_gets_the_id_of_its_result():
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    bare = {"type": "function_call", "name": "look", "arguments": "{}"}
    response = answer(thought, bare)
    assert response.tool_calls[0].id == "call_0"
    assert response.echo == [thought, {**bare, "call_id": "call_0"}]


# Errors --------------------------------------------------------------------------------------------------------------


@together
@pytest.mark.parametrize(
    ("code", "error_type", "kind", "stop_reason", "raw", "retryable"),
    [
        ("server_error", ErrorType.MODEL, "server", None, "failed", True),
        ("rate_limit_exceeded", ErrorType.RATE_LIMIT, "rate_limit", None, "failed", True),
        ("insufficient_quota", ErrorType.MODEL, "quota", None, "failed", False),
        ("invalid_prompt", ErrorType.MODEL, "content_policy", Reason.SAFETY_BLOCKED, "invalid_prompt", False),
        ("bio_policy", ErrorType.MODEL, "content_policy", Reason.SAFETY_BLOCKED, "bio_policy", False),
        (
            "context_length_exceeded",
            ErrorType.MODEL,
            "context_length",
            Reason.CONTEXT_WINDOW_EXCEEDED,
            "context_length_exceeded",
            False,
        ),
    ],
)
def test_a_failed_answer_includes_its_error(code, error_type, kind, stop_reason, raw, retryable):
    response = answer(message("So far"), status="failed", error={"code": code, "message": "No."})
    error = response.error
    assert (error.type, error.kind, error.code, error.message) == (error_type, kind, code, "No.")
    assert (error.stop_reason, error.retryable) == (stop_reason, retryable)
    assert (response.stop_reason, response.raw_stop_reason) == (stop_reason or Reason.UNKNOWN, raw)
    assert response.text == "So far"


def test_a_failure_without_an_error_object_is_still_a_failure():
    assert answer(status="failed").error.kind == "server"


def test_a_failed_call_is_read_like_that_of_the_chat_api():
    body = {"error": {"message": "Too low: integer below minimum value", "code": "integer_below_min_value"}}
    error = RESPONSES.decode_error(400, {}, json.dumps(body).encode())
    assert (error.kind, error.code, error.retryable) == ("invalid_request", "integer_below_min_value", False)
    limited = RESPONSES.decode_error(429, {"Retry-After": "7"}, b'{"error": {"message": "Slow down."}}')
    assert (limited.type, limited.retry_after) == (ErrorType.RATE_LIMIT, 7.0)


@together
@pytest.mark.parametrize("body", [{}, {"a": 1}, {"choices": []}, {"type": "message", "content": []}, [], "x", None])
def test_another_dialect_is_refused(body):
    with pytest.raises(DecodeError, match="no answer of the Responses API"):
        RESPONSES.decode_response(body)
