"""One whole answer: what its parts say beside what its label says."""

import json

import pytest

from agentcore.errors import DecodeError, ErrorType
from agentcore.messages import CallIssue, ChatResponse, TokenUsage
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

OPENAI = get_provider("openai")


def answer(reason="stop", *, usage=None, cap=None, choice=None, top=None, **message) -> ChatResponse:
    body = {"id": "chatcmpl-1", "object": "chat.completion", "model": "m-1", "usage": usage, **(top or {})}
    body["choices"] = [
        {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}, **(choice or {})}
    ]
    return OPENAI.decode_response(body, max_tokens=cap)


def call(arguments, name="look", call_id="c1", **more):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def spent(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 5, "completion_tokens": tokens, "total_tokens": 5 + tokens}


def test_a_plain_answer_is_read_completely():
    response = answer(content="Hello.", usage=spent(3))
    assert response == ChatResponse(
        text="Hello.",
        usage=TokenUsage(5, 3),
        stop_reason=Reason.END_TURN,
        raw_stop_reason="stop",
        reason_trail=response.reason_trail,
        provider="openai",
        model="m-1",
        response_id="chatcmpl-1",
    )


@together
@pytest.mark.parametrize("reason", [None, 7, True, [], {}])
def test_a_missing_reason_is_unknown_and_complete_calls_stay_complete(reason):
    response = answer(reason, content="Hi", tool_calls=[call('{"a": 1}')])
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.UNKNOWN, None)
    assert [c.arguments for c in response.tool_calls] == [{"a": 1}]
    assert not response.incomplete_stream
    assert response.error is None


def test_an_empty_reason_is_unknown_and_kept_as_the_raw_value():
    assert answer("", content="Hi").raw_stop_reason == ""
    assert answer("", content="Hi").stop_reason is Reason.UNKNOWN


# Tool calls ----------------------------------------------------------------------------------------------------------


def test_a_natural_end_with_calls_is_a_tool_call():
    response = answer("stop", tool_calls=[call('{"a": 1}'), call("{}", call_id="c2")])
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, "stop")
    assert [(c.id, c.name, c.arguments, c.raw, c.shown_whole) for c in response.tool_calls] == [
        ("c1", "look", {"a": 1}, '{"a": 1}', True),
        ("c2", "look", {}, "{}", True),
    ]
    assert response.diagnostics == ("relabelled",)


@together
@pytest.mark.parametrize("label", ["length", "content_filter", "error", "odd", "abort", "model_length"])
def test_no_other_stop_reason_is_promoted_by_calls(label):
    assert answer(label, tool_calls=[call("{}")]).stop_reason is OPENAI.normalize(label)


def test_a_complete_call_under_max_tokens_is_kept_as_proven_complete():
    response = answer("length", tool_calls=[call('{"a": 1}')])
    assert response.stop_reason is Reason.MAX_TOKENS
    assert response.tool_calls[0].shown_whole
    assert response.broken_tool_calls == ()


@together
@pytest.mark.parametrize("label", ["length", "model_length", "max_output_tokens", "abort", "content_filter", "error"])
@pytest.mark.parametrize("arguments", ['{"a": "b', "", " ", "null", "{"])
def test_a_truncated_call_under_a_truncation_reason_is_truncated(label, arguments):
    response = answer(label, tool_calls=[call("{}", call_id="c0"), call(arguments)])
    assert [c.issue for c in response.broken_tool_calls] == [CallIssue.TRUNCATED]
    assert response.broken_tool_calls[0].arguments == {}
    assert response.broken_tool_calls[0].raw == arguments
    assert [c.id for c in response.tool_calls] == ["c0"]


@pytest.mark.parametrize("label", ["stop", "tool_calls", "odd", None])
def test_incomplete_arguments_without_evidence_of_truncation_are_malformed(label):
    response = answer(label, tool_calls=[call('{"a": "b')], usage=spent(9), cap=100)
    assert [c.issue for c in response.broken_tool_calls] == [CallIssue.MALFORMED]


@together
@pytest.mark.parametrize("label", ["stop", "tool_calls"])
@pytest.mark.parametrize("arguments", ["", "null", "  "])
def test_missing_arguments_under_a_natural_reason_are_an_empty_object(label, arguments):
    response = answer(label, tool_calls=[call(arguments)])
    assert response.stop_reason is Reason.TOOL_CALL
    assert (response.tool_calls[0].arguments, response.tool_calls[0].raw) == ({}, arguments)


def test_tokens_at_the_cap_prove_truncation_under_a_tool_call_reason():
    """vLLM says `tool_calls` over a call that max_tokens cut."""
    response = answer("tool_calls", tool_calls=[call('{"a": "b')], usage=spent(64), cap=64)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.MAX_TOKENS, "tool_calls")
    assert response.broken_tool_calls[0].issue is CallIssue.TRUNCATED
    assert response.reason_trail[-1].source == "usage"


def test_tokens_at_the_cap_alone_change_nothing():
    assert answer("stop", content="Hi", usage=spent(64), cap=64).stop_reason is Reason.END_TURN
    whole = answer("tool_calls", tool_calls=[call('{"a": 1}')], usage=spent(64), cap=64)
    assert whole.stop_reason is Reason.TOOL_CALL


def test_an_empty_object_at_the_cap_may_be_truncated_arguments():
    """vLLM writes `{}` for arguments it could not read to their end, under the label `tool_calls`."""
    response = answer("tool_calls", tool_calls=[call('{"a": 1}'), call("{}", call_id="c2")], usage=spent(64), cap=64)
    assert response.stop_reason is Reason.MAX_TOKENS
    assert "relabelled" in response.diagnostics
    assert [c.id for c in response.tool_calls] == ["c1", "c2"]  # whether they fit their schemas is the machine's to ask
    below = answer("tool_calls", tool_calls=[call("{}")], usage=spent(63), cap=64)
    assert below.stop_reason is Reason.TOOL_CALL


def test_a_native_stop_reason_reveals_truncation():
    response = answer("tool_calls", choice={"native_finish_reason": "max_output_tokens"}, tool_calls=[call('{"a')])
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.MAX_TOKENS, "max_output_tokens")
    assert response.broken_tool_calls[0].issue is CallIssue.TRUNCATED
    assert "relabelled" in response.diagnostics


@together
@pytest.mark.parametrize(
    ("aside", "reason"),
    [
        ("max_tokens", Reason.MAX_TOKENS),
        ("model_context_window_exceeded", Reason.CONTEXT_WINDOW_EXCEEDED),
        ("refusal", Reason.SAFETY_BLOCKED),
        (128009, Reason.END_TURN),
        ("\nUSER:", Reason.END_TURN),
        ("Length", Reason.END_TURN),
        ("Language", Reason.END_TURN),
        ("tool_use", Reason.END_TURN),
        ("error", Reason.UNKNOWN),
    ],
)
def test_a_second_stop_reason_is_used_where_it_reveals_truncation(aside, reason):
    assert answer("stop", choice={"stop_reason": aside}, content="Hi").stop_reason is reason


@pytest.mark.parametrize("place", ["top", "choice"])
def test_a_truncated_flag_is_evidence_of_truncation(place):
    flagged = {place: {"truncated": True}}
    assert answer("stop", content="Hi", **flagged).stop_reason is Reason.MAX_TOKENS
    assert (
        answer("length", content="Hi", usage=spent(9), cap=100, **flagged).stop_reason is Reason.CONTEXT_WINDOW_EXCEEDED
    )
    assert answer("length", content="Hi", usage=spent(100), cap=100, **flagged).stop_reason is Reason.MAX_TOKENS
    assert answer("stop", content="Hi", top={"truncated": False}).stop_reason is Reason.END_TURN


@together
@pytest.mark.parametrize("arguments", ['{"a": 1, "a": 2}', '{"a": NaN}', "[1]", '{"a": 1} and'])
@pytest.mark.parametrize("label", ["tool_calls", "length"])
def test_a_malformed_call_stays_malformed_under_any_stop_reason(label, arguments):
    response = answer(label, tool_calls=[call(arguments)])
    assert [c.issue for c in response.broken_tool_calls] == [CallIssue.MALFORMED]


def test_a_tool_call_reason_without_calls_is_a_natural_end():
    response = answer("tool_calls", content="No need.", tool_calls=[])
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.END_TURN, "tool_calls")


def test_a_malformed_call_dropped_by_the_provider_is_a_broken_call():
    response = answer("error", choice={"native_finish_reason": "MALFORMED_FUNCTION_CALL"}, content="")
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, "MALFORMED_FUNCTION_CALL")
    assert [c.issue for c in response.broken_tool_calls] == [CallIssue.MALFORMED]


def test_arguments_sent_as_an_object_prove_the_last_call_complete_only_at_a_natural_end():
    whole = answer("tool_calls", tool_calls=[call({"a": [1, "é"]}), call({"b": 2}, call_id="c2")]).tool_calls
    assert [(c.arguments, c.raw) for c in whole] == [({"a": [1, "é"]}, '{"a":[1,"é"]}'), ({"b": 2}, '{"b":2}')]
    assert [c.shown_whole for c in whole] == [True, False]


@together
@pytest.mark.parametrize("arguments", [[1], [], 0, 7, 1.5, True, False, ["{}"]])
def test_arguments_that_are_neither_text_nor_an_object_are_not_empty_arguments(arguments):
    for body in ({"tool_calls": [call(arguments)]}, {"function_call": {"name": "look", "arguments": arguments}}):
        response = answer("tool_calls", **body)
        assert response.tool_calls == ()
        assert [c.issue for c in response.broken_tool_calls] == [CallIssue.MALFORMED]
        assert response.broken_tool_calls[0].arguments == {}


def test_a_custom_call_has_text_and_is_complete_unless_truncated():
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select {"}}
    response = answer("tool_calls", tool_calls=[custom])
    assert [(c.custom, c.raw, c.arguments) for c in response.tool_calls] == [(True, "select {", {})]
    assert answer("length", tool_calls=[custom]).broken_tool_calls[0].issue is CallIssue.TRUNCATED
    assert len(answer("length", tool_calls=[custom, call("{}", call_id="c2")]).tool_calls) == 2


def test_a_legacy_function_call_counts_and_an_empty_one_does_not():
    legacy = answer("function_call", function_call={"name": "joke", "arguments": '{"a": 1}'})
    assert (legacy.stop_reason, legacy.tool_calls[0].id) == (Reason.TOOL_CALL, "call_0")
    empty = answer("stop", content="4", function_call={"name": "", "arguments": ""}, refusal="", tool_calls=None)
    assert (empty.stop_reason, empty.tool_calls, empty.refusal) == (Reason.END_TURN, (), None)


def test_a_call_named_in_both_formats_is_one_call():
    function = {"name": "joke", "arguments": "{}"}
    response = answer("tool_calls", function_call=function, tool_calls=[{"id": "c", "function": function}])
    assert [c.id for c in response.tool_calls] == ["c"]


@together
@pytest.mark.parametrize(
    "entry", [{"type": "web_search", "id": "w"}, {"type": "openrouter:web", "function": {"name": "s"}}, {}, 7, None]
)
def test_tools_run_by_the_provider_are_not_calls(entry):
    response = answer("stop", content="Found.", tool_calls=[entry])
    assert (response.stop_reason, response.tool_calls, response.broken_tool_calls) == (Reason.END_TURN, (), ())


def test_a_function_call_with_an_empty_custom_beside_it_is_a_function_call():
    response = answer("stop", tool_calls=[call('{"a": 1}', custom={"name": "", "input": ""})])
    assert response.tool_calls[0].arguments == {"a": 1}


def test_a_call_without_a_name_is_broken():
    assert answer("tool_calls", tool_calls=[call("{}", name="")]).broken_tool_calls[0].issue is CallIssue.MALFORMED
    assert answer("length", tool_calls=[call("{}", name=None)]).broken_tool_calls[0].issue is CallIssue.TRUNCATED


def test_calls_without_ids_are_numbered_by_position():
    calls = [call("{}", call_id=None), call("{}", call_id="x"), call("{}", call_id=None)]
    assert [c.id for c in answer("stop", tool_calls=calls).tool_calls] == ["call_0", "x", "call_2"]


# Refusals, errors, silence -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["stop", "length", "tool_calls", None])
def test_a_refusal_is_a_block_and_kept_apart_from_the_text(label):
    response = answer(label, content="Well: ", refusal="I cannot help.")
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.SAFETY_BLOCKED, label)
    assert (response.text, response.refusal) == ("Well: ", "I cannot help.")


def test_a_refusal_among_the_parts_is_a_refusal():
    response = answer(content=[{"type": "refusal", "refusal": "No."}])
    assert (response.stop_reason, response.text, response.refusal) == (Reason.SAFETY_BLOCKED, "", "No.")


def test_a_choice_may_have_no_message():
    body = {
        "choices": [{"index": 0, "finish_reason": "content_filter", "content_filter_results": {}}],
        "usage": spent(1),
    }
    response = OPENAI.decode_response(body)
    assert (response.stop_reason, response.text) == (Reason.SAFETY_BLOCKED, "")


@pytest.mark.parametrize("place", ["top", "choice"])
def test_an_error_object_in_a_complete_answer_keeps_the_text(place):
    error = {"error": {"code": 502, "message": "Upstream failed"}}
    response = answer("length", content="So far", **{place: error})
    assert (response.stop_reason, response.raw_stop_reason, response.text) == (Reason.UNKNOWN, "error", "So far")
    assert (response.error.type, response.error.kind, response.error.status) == (ErrorType.MODEL, "server", 502)


def test_a_prompt_that_was_filtered_inside_a_200_is_a_block():
    body = {"error": {"code": "content_filter", "status": 400, "message": "filtered", "param": "prompt"}}
    response = OPENAI.decode_response(body)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.SAFETY_BLOCKED, "content_filter")
    assert response.error.kind == "content_policy"


@together
@pytest.mark.parametrize(
    ("label", "silent"),
    [
        ("stop", True),
        ("length", True),
        ("tool_calls", True),
        (None, True),
        ("", True),
        ("content_filter", False),
        ("error", False),
    ],
)
@pytest.mark.parametrize("content", [None, "", " \n", []])
def test_an_empty_answer_gets_a_diagnostic_where_text_was_expected(label, silent, content):
    assert ("empty_output" in answer(label, content=content).diagnostics) is silent


# Content and usage ---------------------------------------------------------------------------------------------------


def test_content_may_be_a_list_of_parts():
    response = answer(
        content=[
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}, {"type": "text", "text": "m."}]},
            {"type": "text", "text": "Hel"},
            "lo",
            {"type": "image"},
            7,
        ]
    )
    assert (response.text, response.reasoning_content) == ("Hello", "Hmm.")


@together
@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "because"},
        {"reasoning": "because"},
        {"reasoning": "because", "reasoning_content": "because"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "because"}]},
        {
            "reasoning_details": [
                {"type": "reasoning.summary", "summary": "because"},
                {"type": "reasoning.encrypted", "data": "x"},
            ]
        },
    ],
)
def test_reasoning_is_read_in_every_known_position(fields):
    assert answer(content="So.", **fields).reasoning_content == "because"


@together
@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 3},
          "prompt_tokens_details": {"cached_tokens": 2}, "total_tokens": 13}, TokenUsage(9, 4, 3, 2)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 30},
          "total_tokens": 43}, TokenUsage(9, 34, 30, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 5}, TokenUsage(9, 4, 0, 5)),
        ({"input_tokens": 9, "output_tokens": 4.0, "num_cached_tokens": 1}, TokenUsage(9, 4, 0, 1)),
        ({"prompt_tokens": 9, "total_tokens": 13}, TokenUsage(9, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 0}},
         TokenUsage(9, 4, no_reasoning=True)),
        ({"prompt_tokens": "9", "completion_tokens": -1}, None),
        ({"prompt_tokens": True, "completion_tokens": 1.5}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)  # fmt: skip
def test_usage_is_read_in_every_spelling(usage, expected):
    assert answer(content="Hi", usage=usage).usage == expected


def test_usage_is_also_read_from_x_groq_and_from_a_choice():
    assert answer(content="Hi", top={"x_groq": {"usage": spent(3)}}).usage == TokenUsage(5, 3)
    assert answer(content="Hi", choice={"usage": spent(4)}).usage == TokenUsage(5, 4)


def test_the_first_choice_by_index_is_read_in_any_order():
    choices = [
        {"index": index, "message": {"content": text}, "finish_reason": reason}
        for index, text, reason in ((2, "C", "length"), (0, "A", "stop"), (1, "B", "content_filter"))
    ]
    response = OPENAI.decode_response({"choices": choices})
    assert (response.text, response.stop_reason) == ("A", Reason.END_TURN)
    numbered_from_1 = OPENAI.decode_response({"choices": [choices[0], choices[2]]})
    assert (numbered_from_1.text, numbered_from_1.stop_reason) == ("B", Reason.SAFETY_BLOCKED)


def test_only_the_first_choice_is_read():
    body = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "A"}},
                        {"index": 1, "finish_reason": "length", "message": {"content": "B"}}]}  # fmt: skip
    assert (OPENAI.decode_response(body).text, OPENAI.decode_response(body).stop_reason) == ("A", Reason.END_TURN)


def test_no_text_contains_a_lone_surrogate():
    response = answer(content="a\ud83d", reasoning="\ude00", tool_calls=[call("{}", name="\ud83d")])
    assert json.dumps([response.text, response.reasoning_content, response.tool_calls[0].name]).isascii()
    (response.text + response.reasoning_content + response.tool_calls[0].name).encode()


# What has to come back -----------------------------------------------------------------------------------------------


def test_signed_reasoning_is_echoed_with_its_calls():
    details = [{"type": "reasoning.text", "text": "Hm.", "signature": "s", "index": 0}]
    response = answer(
        "tool_calls",
        content="Let me see.",
        reasoning_details=details,
        tool_calls=[call('{"a":1}', extra_content={"google": 1})],
    )
    assert response.echo == {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [call('{"a":1}', extra_content={"google": 1})],
        "reasoning_details": details,
    }


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), "\ud83d"])
def test_an_echo_that_other_servers_could_not_read_is_rebuilt(odd):
    response = answer("tool_calls", tool_calls=[call('{"a":1}', extra_content={"weight": odd})])
    assert response.echo is None
    assert [said.arguments for said in response.tool_calls] == [{"a": 1}]


def test_deepseeks_reasoning_is_echoed_only_in_a_tool_loop():
    assert answer("tool_calls", reasoning_content="Hm.", tool_calls=[call("{}")]).echo["reasoning_content"] == "Hm."
    assert answer("stop", reasoning_content="Hm.", content="Done.").echo is None


def test_a_plain_or_broken_answer_needs_no_echo():
    assert answer("tool_calls", tool_calls=[call("{}")]).echo is None
    assert answer("length", reasoning_content="Hm.", tool_calls=[call("{"), call("{}")]).echo is None


# What is no answer ---------------------------------------------------------------------------------------------------


@together
@pytest.mark.parametrize(
    "payload", [{}, {"type": "message", "content": []}, {"candidates": []}, [], None, "text", {"error": None}]
)
def test_another_vendors_json_is_refused(payload):
    with pytest.raises(DecodeError, match="no chat completion"):
        OPENAI.decode_response(payload)


def test_a_stream_stored_as_an_array_is_read_as_a_stream():
    deltas = [{"content": "Grü"}, {"content": "ße"}, {}]
    chunks = [{"choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks[-1]["choices"][0]["finish_reason"] = "length"
    response = OPENAI.decode_response([{"other": 1}, *chunks])
    assert (response.text, response.stop_reason) == ("Grüße", Reason.MAX_TOKENS)


@together
@pytest.mark.parametrize("choices", [None, [], {}, "x", [None], [[]], [{}], [{"message": "x", "finish_reason": {}}]])
def test_unexpected_shapes_are_read_as_absent(choices):
    response = OPENAI.decode_response({"choices": choices, "usage": "x", "model": 7, "id": []})
    assert (response.stop_reason, response.raw_stop_reason, response.model) == (Reason.UNKNOWN, None, "")
    assert (response.error is None) is (response.diagnostics == ("empty_output",))
