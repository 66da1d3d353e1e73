import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import DecodeError, ErrorType
from agentcore.messages import CallIssue, ChatResponse, Delta, TokenUsage
from agentcore.providers import get_provider
from agentcore.providers.gemini.parts import PartialArguments
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.time_growth import grows_linearly
from tests.peak_memory import peak_of
from tests.together import together

GEMINI = get_provider("gemini")
LOOK = {"functionCall": {"name": "look", "args": {"far": True}}}


def chunk(*parts, reason=None, usage=None, candidate=None, **top):
    said = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **(candidate or {})}
    if reason is not None:
        said["finishReason"] = reason
    return {"candidates": [said], "modelVersion": "m-1", "responseId": "r-1", **top} | (
        {"usageMetadata": usage} if usage else {}
    )


def decode(*payloads, cap=None) -> ChatResponse:
    decoder = GEMINI.stream_decoder(max_tokens=cap)
    for payload in payloads:
        decoder.feed(payload if isinstance(payload, bytes) else b"data: " + json.dumps(payload).encode() + b"\r\n\r\n")
    return decoder.close()


STORY = [
    chunk({"text": "Hm, ü", "thought": True}, usage={"promptTokenCount": 7, "totalTokenCount": 7}),
    chunk({"text": "Grüße 😀 "}, usage={"promptTokenCount": 7, "candidatesTokenCount": 2, "totalTokenCount": 9}),
    chunk({"text": "an alle"}),
    chunk({"functionCall": {"name": "look", "args": {"where": "Köln"}, "id": "g1"}, "thoughtSignature": "sig"}),
    chunk(
        {"text": ""},
        reason="STOP",
        usage={
            "promptTokenCount": 7,
            "toolUsePromptTokenCount": 3,
            "cachedContentTokenCount": 4,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 6,
            "totalTokenCount": 21,
        },
    ),
]
FRAMINGS = {
    "events": b"".join(b"data: " + json.dumps(one, ensure_ascii=False).encode() + b"\r\n\r\n" for one in STORY),
    "array": json.dumps(STORY, ensure_ascii=False, indent=1).encode(),
    "lines": b"".join(json.dumps(one).encode() + b"\n" for one in STORY),
}


def assert_is_the_story(response: ChatResponse) -> None:
    assert (response.text, response.reasoning_content) == ("Grüße 😀 an alle", "Hm, ü")
    assert [(c.id, c.name, c.arguments, c.shown_whole) for c in response.tool_calls] == [
        ("g1", "look", {"where": "Köln"}, False)
    ]
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, "STOP")
    assert response.usage == TokenUsage(input_tokens=10, output_tokens=11, reasoning_tokens=6, cached_tokens=4)
    assert (response.provider, response.model, response.response_id) == ("gemini", "m-1", "r-1")
    assert (response.incomplete_stream, response.error, response.diagnostics) == (False, None, ())
    assert response.echo == {
        "role": "model",
        "parts": [
            {"text": "Grüße 😀 an alle"},
            {"functionCall": {"name": "look", "args": {"where": "Köln"}, "id": "g1"}, "thoughtSignature": "sig"},
        ],
    }


@pytest.mark.parametrize("framing", FRAMINGS)
@given(data=st.data())
def test_a_stream_is_read_in_any_framing_and_any_chunking(framing, data):
    stream = FRAMINGS[framing]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    assert_is_the_story(decode(*(stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True))))


@pytest.mark.parametrize("framing", FRAMINGS)
def test_whole_line_by_line_and_byte_by_byte_input_give_the_same_result(framing):
    stream = FRAMINGS[framing]
    assert_is_the_story(decode(stream))
    assert_is_the_story(decode(*stream.splitlines(keepends=True)))
    assert_is_the_story(decode(*(stream[i : i + 1] for i in range(len(stream)))))


def test_a_complete_array_is_a_complete_answer():
    assert_is_the_story(GEMINI.decode_response(STORY))


def test_every_feed_returns_the_new_text_to_show():
    decoder = GEMINI.stream_decoder()
    deltas = [delta for line in FRAMINGS["array"].splitlines() for delta in decoder.feed(line)]
    assert deltas == [
        Delta(reasoning="Hm, ü"),
        Delta("Grüße 😀 "),
        Delta("an alle"),
        Delta(tool_name="look", tool_arguments='{"where":"Köln"}'),
    ]
    assert decoder.close() is decoder.close()


# The words --------------------------------------------------------------------------------------------------------

WORDS = {
    Reason.END_TURN: ["STOP"],
    Reason.MAX_TOKENS: ["MAX_TOKENS", "CONTINUATION"],
    Reason.SAFETY_BLOCKED: [
        "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "ESCALATION",
        "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "JAILBREAK",
    ],
    Reason.TOOL_CALL: ["MALFORMED_FUNCTION_CALL"],
    Reason.UNKNOWN: [
        "FINISH_REASON_UNSPECIFIED", "OTHER", "IMAGE_OTHER", "NO_IMAGE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE", "PUP_LIMITED_DISABLED", "A_NEW_WORD", "99",
    ],
}  # fmt: skip
NUMBERS = {
    0: Reason.UNKNOWN,
    1: Reason.END_TURN,
    2: Reason.MAX_TOKENS,
    **dict.fromkeys((3, 4, 6, 7, 8, 10, 11, 12, 13), Reason.SAFETY_BLOCKED),
    9: Reason.TOOL_CALL,
    **dict.fromkeys((5, 14, 15, 16, 17), Reason.UNKNOWN),
}
TABLE = [(word, reason) for reason, words in WORDS.items() for word in words] + list(NUMBERS.items())


@together
@pytest.mark.parametrize(("raw", "reason"), TABLE)
def test_every_stop_reason_by_name_and_number_is_mapped_as_in_the_table_and_kept(raw, reason):
    assert GEMINI.normalize(str(raw)) is reason
    assert GEMINI.normalize(f" {str(raw).lower()}\n") is reason
    response = GEMINI.decode_response(chunk({"text": "Hi"}, reason=raw))
    assert (response.stop_reason, response.raw_stop_reason) == (reason, str(raw))
    assert decode(chunk({"text": "Hi"}, reason=raw)) == response


@together
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("incomplete", Reason.MAX_TOKENS),
        ("requires_continuation", Reason.MAX_TOKENS),
        ("requires_action", Reason.TOOL_CALL),
        ("completed", Reason.END_TURN),
        ("cancelled", Reason.CANCELLED),
        ("budget_exceeded", Reason.UNKNOWN),
        ("failed", Reason.UNKNOWN),
        ("in_progress", Reason.UNKNOWN),
    ],
)
def test_statuses_of_interactions_are_stop_reasons(status, reason):
    assert GEMINI.normalize(status) is reason


def test_a_missing_stop_reason_is_unknown():
    assert GEMINI.normalize(None) is Reason.UNKNOWN
    assert GEMINI.normalize("") is Reason.UNKNOWN


@together
@pytest.mark.parametrize("word", ["SAFETY", "OTHER", "BLOCKLIST", "MODEL_ARMOR", "JAILBREAK", "A_NEW_WORD", 4])
def test_a_blocked_prompt_has_no_candidate(word):
    feedback = {"blockReason": word, "blockReasonMessage": "Not this."}
    response = decode({"promptFeedback": feedback, "usageMetadata": {"trafficType": "ON_DEMAND"}})
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.SAFETY_BLOCKED, str(word))
    assert (response.refusal, response.usage, response.diagnostics) == ("Not this.", None, ())
    assert not response.incomplete_stream


def test_text_of_a_blocked_answer_is_kept_and_the_block_reason_is_stored_separately():
    candidate = {"finishMessage": "It violated.", "safetyRatings": [{"blocked": True}]}
    response = decode(chunk({"text": "So"}), chunk(reason="SAFETY", candidate=candidate))
    assert (response.stop_reason, response.text, response.refusal) == (Reason.SAFETY_BLOCKED, "So", "It violated.")


def test_a_rating_that_blocked_is_a_block_under_any_stop_reason():
    response = GEMINI.decode_response(
        chunk({"text": "So"}, reason="STOP", candidate={"safetyRatings": [{"blocked": True}]})
    )
    assert (response.stop_reason, response.diagnostics) == (Reason.SAFETY_BLOCKED, ("relabelled",))


# How it ends ------------------------------------------------------------------------------------------------------


def test_the_last_of_several_reasons_applies():
    ran = {"executableCode": {"code": "1"}}
    response = decode(chunk(ran, reason="STOP"), chunk({"text": "2"}), chunk(reason="MAX_TOKENS"))
    assert (response.stop_reason, response.text) == (Reason.MAX_TOKENS, "2")
    assert response.echo == {"role": "model", "parts": [ran, {"text": "2"}]}


def test_a_stream_without_a_reason_broke_off():
    response = decode(chunk({"text": "So f"}), b'data: {"candidates": [{"fin')
    assert (response.stop_reason, response.incomplete_stream, response.text) == (Reason.UNKNOWN, True, "So f")
    assert (response.error.type, response.error.kind) == (ErrorType.MODEL, "incomplete_stream")


def test_a_broken_off_stream_at_the_cap_is_max_tokens():
    response = decode(chunk({"text": "So f"}, usage={"candidatesTokenCount": 8, "promptTokenCount": 1}), cap=8)
    assert (response.stop_reason, response.incomplete_stream, response.error) == (Reason.MAX_TOKENS, True, None)


def test_a_complete_answer_without_a_reason_is_unknown_but_complete():
    sound = {"inlineData": {"mimeType": "audio/L16", "data": "AAAA"}}
    response = GEMINI.decode_response(chunk(sound))
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.UNKNOWN, None)
    assert (response.incomplete_stream, response.diagnostics) == (False, ())
    assert decode(json.dumps(chunk(sound), indent=2).encode()) == response
    assert decode(json.dumps([chunk(sound)]).encode()) == response


def test_an_array_that_does_not_close_broke_off():
    stream = json.dumps([chunk({"text": "So"}), chunk({"text": " far"})]).encode()
    assert decode(stream[:-1]).incomplete_stream
    assert not decode(stream).incomplete_stream


def test_a_truncated_complete_answer_is_read_as_far_as_possible():
    body = json.dumps(chunk({"text": "So far"}, reason="STOP")).encode()
    response = decode(body[: body.index(b"far") + 2])
    assert (response.text, response.stop_reason, response.incomplete_stream) == ("So fa", Reason.UNKNOWN, True)
    body = json.dumps(chunk(LOOK, reason="STOP")).encode()
    response = decode(body[: body.index(b"true") + 4])
    assert (response.tool_calls, response.broken_tool_calls[0].issue) == ((), CallIssue.TRUNCATED)


@pytest.mark.parametrize("reason", ["STOP", "MAX_TOKENS"])
def test_an_empty_answer_has_its_own_diagnostic(reason):
    usage = {"promptTokenCount": 15, "thoughtsTokenCount": 2, "totalTokenCount": 17}
    response = GEMINI.decode_response(
        {"candidates": [{"content": {"role": "model"}, "finishReason": reason}], "usageMetadata": usage}
    )
    assert (response.diagnostics, response.usage) == (("empty_output",), TokenUsage(15, 2, 2))


def test_an_omitted_count_is_derived_from_the_total():
    response = GEMINI.decode_response(chunk({"text": "Hi"}, usage={"promptTokenCount": 5, "totalTokenCount": 9}))
    assert response.usage == TokenUsage(5, 4)


def test_a_continuation_token_is_the_resume_token():
    response = decode(chunk({"text": "So"}, reason="CONTINUATION", candidate={"continuationToken": "abc"}))
    assert (response.stop_reason, response.resume_token) == (Reason.MAX_TOKENS, "abc")
    assert decode(chunk({"text": "So"}, candidate={"continuationToken": "abc"})).resume_token == "abc"
    assert decode(chunk({"text": "So"}, reason="STOP", candidate={"continuationToken": "abc"})).resume_token is None


def test_only_one_candidate_is_read():
    one, two = ({"index": i, "content": {"parts": [{"text": str(i)}]}} for i in (1, 0))
    assert GEMINI.decode_response({"candidates": [one, two]}).text == "1"


# Calls ------------------------------------------------------------------------------------------------------------


def test_parallel_calls_are_complete_except_that_the_last_is_not_proven_so():
    response = GEMINI.decode_response(chunk(LOOK, LOOK, reason="STOP"))
    assert [(c.id, c.shown_whole) for c in response.tool_calls] == [("call_0", True), ("call_1", False)]


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "CONTINUATION", 2])
def test_the_last_call_of_a_truncated_answer_is_truncated_even_if_it_looks_complete(reason):
    response = decode(chunk(LOOK, LOOK, reason=reason))
    assert ([c.id for c in response.tool_calls], response.stop_reason) == (["call_0"], Reason.MAX_TOKENS)
    assert [(c.id, c.issue) for c in response.broken_tool_calls] == [("call_1", CallIssue.TRUNCATED)]
    followed = decode(chunk(LOOK, {"text": "So"}, reason=reason))
    assert ([c.id for c in followed.tool_calls], followed.broken_tool_calls) == (["call_0"], ())


def test_a_call_beside_a_malformed_one_does_not_run():
    response = decode(chunk(LOOK, reason="MALFORMED_FUNCTION_CALL"))
    assert ([c.issue for c in response.broken_tool_calls], response.tool_calls) == ([CallIssue.MALFORMED], ())
    assert response.stop_reason is Reason.TOOL_CALL


def test_arguments_sent_as_text_are_read_as_strictly_as_any():
    written = {"functionCall": {"name": "look", "args": '{"far": true}'}}
    assert dict(GEMINI.decode_response(chunk(written, reason="STOP")).tool_calls[0].arguments) == {"far": True}
    bad = {"functionCall": {"name": "look", "args": '{"far": tr'}}
    assert GEMINI.decode_response(chunk(bad, reason="STOP")).broken_tool_calls[0].issue is CallIssue.MALFORMED


def test_empty_parts_are_not_sent_back():
    empty = [None, 5, {"text": None}, {"functionCall": None}, {"thought": True}, {}]
    response = GEMINI.decode_response(chunk(*empty, {"text": "Hi"}, reason="STOP"))
    assert (response.text, response.echo) == ("Hi", None)


def test_a_call_without_arguments_has_empty_arguments_unless_truncated():
    bare = {"functionCall": {"name": "look"}}
    assert GEMINI.decode_response(chunk(bare, reason="STOP")).tool_calls[0].arguments == {}
    assert GEMINI.decode_response(chunk(bare, reason="MAX_TOKENS")).broken_tool_calls[0].issue is CallIssue.TRUNCATED


@pytest.mark.parametrize("body", [{"name": "look", "args": []}, {"name": "look", "args": "x"}, {"args": {"a": 1}}])
def test_a_call_of_the_wrong_shape_is_malformed(body):
    response = GEMINI.decode_response(chunk({"functionCall": body}, reason="STOP"))
    assert [call.issue for call in response.broken_tool_calls] == [CallIssue.MALFORMED]
    assert response.echo is None


def test_a_malformed_call_without_its_content_is_a_broken_call():
    candidate = {"finishMessage": "Malformed function call: look(far=tr"}
    response = GEMINI.decode_response(chunk(reason="MALFORMED_FUNCTION_CALL", candidate=candidate))
    call = response.broken_tool_calls[0]
    assert (call.issue, call.raw) == (CallIssue.MALFORMED, "Malformed function call: look(far=tr")
    assert response.stop_reason is Reason.TOOL_CALL


def test_the_providers_own_tools_are_not_calls():
    own = [{"toolCall": {"toolType": "X", "id": "1"}}, {"toolResponse": {"id": "1"}}, {"codeExecutionResult": {}}]
    response = GEMINI.decode_response(chunk(*own, {"text": "Done"}, reason="STOP"))
    assert (response.stop_reason, response.tool_calls) == (Reason.END_TURN, ())
    assert response.echo == {"role": "model", "parts": [*own, {"text": "Done"}]}


def test_an_unexpected_call_stays_unknown():
    response = GEMINI.decode_response(chunk(LOOK, reason="UNEXPECTED_TOOL_CALL"))
    assert (response.stop_reason, len(response.tool_calls)) == (Reason.UNKNOWN, 1)


def test_plain_answers_need_no_echo_and_signed_text_does():
    assert GEMINI.decode_response(chunk({"text": "Hi"}, {"text": "Hm", "thought": True}, reason="STOP")).echo is None
    signed = {"text": "", "thoughtSignature": "s"}
    response = decode(chunk({"text": "H"}), chunk({"text": "i"}), chunk(signed, reason="STOP"))
    assert response.echo == {"role": "model", "parts": [{"text": "Hi"}, signed]}


def piece(*entries, more=True, **body):
    arguments = {"partialArgs": list(entries)} if entries else {}
    return chunk({"functionCall": {**body, **arguments, **({"willContinue": True} if more else {})}})


STREAMED = [
    piece(name="order", id="g1"),
    piece({"jsonPath": "$.what", "stringValue": "two ", "willContinue": True}),
    piece({"jsonPath": "$.what", "stringValue": "cakes", "willContinue": True}),
    piece({"jsonPath": "$.what", "stringValue": ""}, {"jsonPath": "$.n", "numberValue": 2}),
    piece({"jsonPath": "$.to[0]['the name']", "stringValue": "Ada"}, {"jsonPath": "$.to[1]", "boolValue": True}),
    piece({"jsonPath": '$["x"].y', "nullValue": "NULL_VALUE"}),
]


def test_arguments_sent_value_by_value_are_assembled():
    response = decode(*STREAMED, piece(more=False), chunk(LOOK, reason="STOP"))
    wanted = {"what": "two cakes", "n": 2, "to": [{"the name": "Ada"}, True], "x": {"y": None}}
    assert [dict(call.arguments) for call in response.tool_calls] == [wanted, {"far": True}]
    assert response.tool_calls[0].id == "g1"
    assert response.echo["parts"][0] == {"functionCall": {"name": "order", "args": wanted, "id": "g1"}}


@pytest.mark.parametrize("name", ["a" * 500_000, "\\'" * 250_000], ids=["letters", "escapes"])
def test_a_very_long_name_in_a_path_takes_little_memory(name):
    taken = PartialArguments()
    taken.take([{"jsonPath": f"$['{name}']", "numberValue": 1}])
    assert list(taken.value().values()) == [1]
    assert peak_of(taken.value) < 20_000_000


@pytest.mark.parametrize("reason", ["STOP", "MAX_TOKENS", None])
def test_a_call_marked_to_continue_is_truncated(reason):
    response = decode(*STREAMED[:3], chunk(reason=reason))
    assert (response.tool_calls, response.broken_tool_calls[0].issue) == ((), CallIssue.TRUNCATED)
    assert response.broken_tool_calls[0].name == "order"
    assert (
        response.stop_reason
        is {"STOP": Reason.TOOL_CALL, "MAX_TOKENS": Reason.MAX_TOKENS, None: Reason.UNKNOWN}[reason]
    )


def test_an_argument_marked_to_continue_makes_its_call_truncated_even_without_a_mark_on_the_call():
    response = decode(
        piece({"jsonPath": "$.what", "stringValue": "two ", "willContinue": True}, more=False, name="order"),
        chunk(reason="STOP"),
    )
    assert ([c.issue for c in response.broken_tool_calls], response.tool_calls) == ([CallIssue.TRUNCATED], ())


@together
@pytest.mark.parametrize("path", ["", "$", "what", "$..a", "$.a[", "$[0]", "$.a[5]", "$.n.deep", "$[999999999999]"])
def test_a_path_that_does_not_match_the_object_makes_the_call_malformed(path):
    entries = ({"jsonPath": "$.n", "numberValue": 2}, {"jsonPath": path, "stringValue": "x"})
    response = decode(piece(*entries, more=False, name="order"), chunk(reason="STOP"))
    assert [call.issue for call in response.broken_tool_calls] == [CallIssue.MALFORMED]


# Errors -----------------------------------------------------------------------------------------------------------


def error(code, status, message, *details):
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48s"}
DAILY = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDayPerModel"}]}
BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
TOO_LONG = "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576)."
ERRORS = [
    (error(429, "RESOURCE_EXHAUSTED", "Slow down.", RETRY), "rate_limit", ErrorType.RATE_LIMIT, True, 48.0),
    (error(429, "RESOURCE_EXHAUSTED", "Enough.", DAILY, RETRY), "quota", ErrorType.RATE_LIMIT, False, 48.0),
    (error(400, "INVALID_ARGUMENT", "API key not valid.", BAD_KEY), "auth", ErrorType.MODEL, False, None),
    (error(400, "INVALID_ARGUMENT", TOO_LONG), "context_length", ErrorType.MODEL, False, None),
    (error(400, "INVALID_ARGUMENT", "No such field."), "invalid_request", ErrorType.MODEL, False, None),
    (error(403, "PERMISSION_DENIED", "No."), "auth", ErrorType.MODEL, False, None),
    (error(404, "NOT_FOUND", "No model."), "not_found", ErrorType.MODEL, False, None),
    (error(500, "INTERNAL", "Oh."), "server", ErrorType.MODEL, True, None),
    (error(503, "UNAVAILABLE", "The model is overloaded."), "overloaded", ErrorType.MODEL, True, None),
    (error(504, "DEADLINE_EXCEEDED", "Late."), "timeout", ErrorType.TIMEOUT, True, None),
]


@together
@pytest.mark.parametrize(("body", "kind", "error_type", "retryable", "wait"), ERRORS)
def test_an_error_is_judged_by_its_status_and_its_details(body, kind, error_type, retryable, wait):
    for wire in (body, [body]):
        found = GEMINI.decode_error(body["error"]["code"], {}, json.dumps(wire).encode())
        assert (found.kind, found.type, found.retryable, found.retry_after) == (kind, error_type, retryable, wait)
        assert (found.code, found.message) == (body["error"]["status"], body["error"]["message"])
    inside = decode(chunk({"text": "So"}, reason="STOP"), body)
    assert (inside.error.kind, inside.error.type, inside.text) == (kind, error_type, "So")
    assert inside.stop_reason is (Reason.CONTEXT_WINDOW_EXCEEDED if kind == "context_length" else Reason.UNKNOWN)


def test_an_error_response_without_an_error_object_still_gives_a_message():
    found = GEMINI.decode_error(502, {"Retry-After": "3"}, b"<html><title>Bad Gateway</title>")
    assert (found.kind, found.message, found.retry_after) == ("server", "Bad Gateway", 3.0)


# Whatever comes ---------------------------------------------------------------------------------------------------


@together
@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{}", b"[]", b"[1, 2]", b'{"choices": []}', b"data: x\n\n", b'{"a": oops']
)
def test_a_payload_of_another_dialect_is_refused(body):
    with pytest.raises(DecodeError):
        decode(body)


KEYS = (
    "candidates content parts text thought functionCall name args partialArgs jsonPath stringValue willContinue "
    "finishReason promptFeedback blockReason usageMetadata promptTokenCount error code details index"
)
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["STOP", "$.a"])
JSON = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, JSON)
def test_any_json_in_the_fields_of_the_dialect_is_read_or_refused(one, two):
    for payload in ({"candidates": [one, two]}, {"candidates": [{"content": {"parts": [one, two]}}]}, one):
        try:
            response = GEMINI.decode_response(payload)
            assert decode(json.dumps(payload).encode()).stop_reason is response.stop_reason
        except DecodeError:
            pass


@given(st.binary(max_size=60), st.sampled_from([b"", b"{", b"[", b"data: ", b'{"candidates": [']))
def test_any_bytes_are_read_or_refused(data, head):
    with contextlib.suppress(DecodeError):
        decode(head + data)
    assert GEMINI.decode_error(500, {}, head + data).message


GROWING = {
    "text": chunk({"text": "ab"}),
    "calls": chunk(LOOK),
    "one argument": piece({"jsonPath": "$.a", "stringValue": "xx", "willContinue": True}, name="order"),
}


@together
@pytest.mark.parametrize("kind", GROWING)
@pytest.mark.parametrize("array", [True, False])
def test_reading_takes_linear_time(kind, array):
    def read(size: int) -> None:
        one = json.dumps(GROWING[kind]).encode()
        data = b"[" + one + (b"," + one) * size if array else (b"data: " + one + b"\n\n") * size
        decode(*(data[i : i + 64] for i in range(0, len(data), 64)))

    assert grows_linearly(read, 200)
