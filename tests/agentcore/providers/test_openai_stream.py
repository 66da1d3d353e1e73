"""The same answer in pieces: any chunking, any end, and the errors that come in the middle."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import DecodeError, ErrorType
from agentcore.messages import CallIssue, ChatResponse, Delta, TokenUsage
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

OPENAI = get_provider("openai")
DONE = b"data: [DONE]\n\n"


def event(payload: object, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(payload, ensure_ascii=False)}\n\n".encode()


def chunk(delta=None, reason=None, *, usage=None, choice=None, **top) -> bytes:
    body = {"id": "c-1", "object": "chat.completion.chunk", "model": "m-1", "usage": usage, **top}
    body["choices"] = [{"index": 0, "delta": delta or {}, "finish_reason": reason, **(choice or {})}]
    return event(body)


def piece(arguments=None, *, index=0, call_id=None, name=None, **more):
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}, **more}


def calls(*pieces) -> bytes:
    return chunk({"tool_calls": list(pieces)})


def decode(*chunks: bytes, cap: int | None = None) -> ChatResponse:
    decoder = OPENAI.stream_decoder(max_tokens=cap)
    for data in chunks:
        decoder.feed(data)
    return decoder.close()


STORY = [
    b": OPENROUTER PROCESSING\n\n",
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning": "Hm, ü"}),
    chunk({"content": "Grüße 😀 "}),
    chunk({"content": "an alle"}),
    calls(piece("", call_id="c1", name="look", type="function")),
    calls(piece('{"where": "K')),
    calls(piece('öln"}')),
    chunk({}, "tool_calls"),
    chunk({}, "tool_calls", usage={"prompt_tokens": 7, "completion_tokens": 9}),
    DONE,
]


def assert_is_the_story(response: ChatResponse) -> None:
    assert response.text == "Grüße 😀 an alle"
    assert response.reasoning_content == "Hm, ü"
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [("c1", "look", {"where": "Köln"})]
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, "tool_calls")
    assert (response.usage, response.model, response.response_id) == (TokenUsage(7, 9), "m-1", "c-1")
    assert not response.incomplete_stream


def test_a_stream_is_read_completely():
    assert_is_the_story(decode(*STORY))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@given(data=st.data())
def test_chunking_makes_no_difference(end, data):
    stream = b"".join(STORY).replace(b"\n", end)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert decode(*pieces) == decode(stream)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_whole_line_by_line_and_byte_by_byte_input_give_the_same_result(end):
    stream = b"".join(STORY).replace(b"\n", end)
    assert_is_the_story(decode(stream))
    assert decode(*stream.splitlines(keepends=True)) == decode(stream)
    assert decode(*(stream[i : i + 1] for i in range(len(stream)))) == decode(stream)


def test_every_feed_returns_the_new_text_to_show():
    decoder = OPENAI.stream_decoder()
    deltas = [delta for data in STORY for delta in decoder.feed(data)]
    assert deltas == [
        Delta(reasoning="Hm, ü"),
        Delta(text="Grüße 😀 "),
        Delta(text="an alle"),
        Delta(tool_name="look"),
        Delta(tool_arguments='{"where": "K'),
        Delta(tool_arguments='öln"}'),
    ]
    assert decoder.close() is decoder.close()


def test_a_stream_may_start_with_a_byte_order_mark_and_omit_empty_lines():
    assert_is_the_story(decode(b"\xef\xbb\xbf" + b"".join(STORY)))
    dense = b"".join(STORY[1:]).replace(b"\n\n", b"\n")
    assert_is_the_story(decode(dense))


def test_the_last_empty_line_may_be_missing():
    response = decode(chunk({"content": "Hi"}), b"data: [DONE]")
    assert (response.stop_reason, response.incomplete_stream) == (Reason.UNKNOWN, False)


# How it ends ---------------------------------------------------------------------------------------------------------


def test_a_reason_is_valid_without_the_closing_event():
    response = decode(chunk({"content": "Hi"}, "stop"))
    assert (response.stop_reason, response.incomplete_stream, response.error) == (Reason.END_TURN, False, None)


def test_the_closing_event_without_a_reason_is_unknown_and_calls_stay_complete():
    response = decode(calls(piece("{}", call_id="c", name="look")), DONE)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.UNKNOWN, None)
    assert (len(response.tool_calls), response.incomplete_stream, response.error) == (1, False, None)


@pytest.mark.parametrize("reason", [None, ""])
def test_neither_reason_nor_closing_event_is_a_broken_stream(reason):
    response = decode(chunk({"content": "So f"}, reason), b'data: {"choices": [{"del')
    assert (response.stop_reason, response.incomplete_stream, response.text) == (Reason.UNKNOWN, True, "So f")
    assert (response.error.type, response.error.kind, response.error.retryable) == (
        ErrorType.MODEL,
        "incomplete_stream",
        True,
    )


def test_a_broken_stream_with_tokens_at_the_cap_is_max_tokens():
    used = {"prompt_tokens": 1, "completion_tokens": 50}
    response = decode(chunk({"content": "So far"}, usage=used), cap=50)
    assert (response.stop_reason, response.incomplete_stream, response.error) == (Reason.MAX_TOKENS, True, None)
    assert decode(chunk({"content": "So far"}, usage=used), cap=51).stop_reason is Reason.UNKNOWN
    assert decode(chunk({"content": "So far"}, truncated=True)).stop_reason is Reason.MAX_TOKENS


def test_a_call_in_a_broken_stream_is_truncated():
    response = decode(calls(piece('{"a', call_id="c", name="look")))
    assert response.broken_tool_calls[0].issue is CallIssue.TRUNCATED
    assert response.echo is None


def test_keep_alives_alone_before_the_end_are_a_broken_stream():
    assert decode(b": OPENROUTER PROCESSING\n\n").incomplete_stream


def test_empty_stop_reasons_on_every_chunk_do_not_hide_the_reason():
    response = decode(chunk({"content": "a"}, ""), chunk({"content": "b"}, "length"), chunk({"content": "c"}, ""), DONE)
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("abc", Reason.MAX_TOKENS, "length")
    assert len(response.reason_trail) == 2


def test_usage_arrives_last_with_or_without_choices():
    used = {"prompt_tokens": 2, "completion_tokens": 3}
    apart = event({"object": "chat.completion.chunk", "choices": [], "usage": used})
    assert decode(chunk({"content": "a"}, "stop"), apart, DONE).usage == TokenUsage(2, 3)
    assert decode(chunk({"content": "a"}, "stop", usage=used), chunk(), DONE).usage == TokenUsage(2, 3)
    assert decode(chunk({"content": "a"}, "stop", x_groq={"usage": used})).usage == TokenUsage(2, 3)


# Errors in the middle ------------------------------------------------------------------------------------------------


@together
@pytest.mark.parametrize(
    "error",
    [
        event({"error": {"message": "boom", "code": 502}}),
        event({"error": "boom"}),
        event({"error": {"message": "boom"}}, "error"),
        event({"message": "boom", "code": "x"}, "error"),
        event("boom", "error"),
        b"event: error\ndata: boom\n\n",
        event({"object": "error", "message": "boom", "code": 500}),
        chunk(None, "error", error={"message": "boom"}),
        chunk(None, None, choice={"error": {"message": "boom"}}),
    ],
)
@pytest.mark.parametrize("before", [None, "length", "stop"])
def test_an_error_in_the_stream_is_terminal_and_keeps_the_text(error, before):
    response = decode(chunk({"content": "So far"}, before), error, DONE)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.UNKNOWN, "error")
    assert (response.text, response.error.type, response.error.message) == ("So far", ErrorType.MODEL, "boom")
    assert not response.incomplete_stream
    assert decode(chunk({"content": "So far"}, before), error) == response


def test_an_error_that_means_a_stop_reason_is_read_as_one():
    response = decode(event({"error": {"code": "context_length_exceeded", "message": "too long"}}))
    assert response.stop_reason is Reason.CONTEXT_WINDOW_EXCEEDED
    assert response.raw_stop_reason == "context_length_exceeded"


def test_a_rate_limit_in_the_stream_keeps_its_type():
    assert decode(event({"error": {"code": 429, "message": "slow"}})).error.type is ErrorType.RATE_LIMIT
    assert (
        decode(event({"error": {"type": "rate_limit_exceeded", "message": "slow"}})).error.type is ErrorType.RATE_LIMIT
    )


# Tool calls in pieces ------------------------------------------------------------------------------------------------


def test_parallel_calls_are_kept_apart_by_index():
    response = decode(
        calls(piece('{"n"', index=1, call_id="b", name="two")),
        calls(piece('{"n"', index=0, call_id="a", name="one"), piece(": 2}", index=1)),
        calls(piece(": 1}", index=0)),
        chunk({}, "tool_calls"),
    )
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [
        ("b", "two", {"n": 2}),
        ("a", "one", {"n": 1}),
    ]


def test_parallel_calls_that_all_have_index_0_are_kept_apart_by_id():
    response = decode(
        calls(piece("{}", call_id="a", name="one")), calls(piece("{}", call_id="b", name="two")), chunk({}, "stop")
    )
    assert [(c.id, c.name) for c in response.tool_calls] == [("a", "one"), ("b", "two")]


def test_parallel_calls_that_all_have_index_0_and_no_id_are_kept_apart_by_their_complete_arguments():
    response = decode(
        calls(piece('{"a": {"b": 1}}', name="look"), piece('{"a": 2}', name="look")),
        calls(piece('{"c": ', name="see")),
        calls(piece("{}}", name="see")),
        chunk({}, "tool_calls"),
    )
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [
        ("call_0", "look", {"a": {"b": 1}}),
        ("call_1", "look", {"a": 2}),
        ("call_2", "see", {"c": {}}),
    ]


def test_an_index_sent_as_text_is_accepted():
    response = decode(
        calls(piece("", index="0", call_id="a", name="look"), piece("", index="1", call_id="b", name="see")),
        calls(piece('{"y": 2}', index="1"), piece('{"x": 1}', index="0")),
        chunk({}, "tool_calls"),
    )
    assert [(c.id, c.arguments) for c in response.tool_calls] == [("a", {"x": 1}), ("b", {"y": 2})]


@together
@pytest.mark.parametrize("index", [True, -1, 1.5, "one", "", 2**60, [0]])
def test_an_invalid_index_assigns_a_piece_by_its_id(index):
    response = decode(
        calls(piece('{"x"', index=index, call_id="a", name="look")),
        calls(piece("{}", index=index, call_id="b", name="see")),
        calls(piece(": 1}", index=index, call_id="a")),
        chunk({}, "tool_calls"),
    )
    assert [(c.id, c.arguments) for c in response.tool_calls] == [("a", {"x": 1}), ("b", {})]


def test_pieces_without_an_index_follow_their_id_or_the_latest_call():
    response = decode(
        calls(piece('{"n": ', index=None, call_id="a", name="one")),
        calls(piece("1}", index=None)),
        calls(piece('{"n": ', index=None, call_id="b", name="two"), piece("2}", index=None, call_id="b")),
        calls(piece("{}", index=None, name="three")),
        chunk({}, "tool_calls"),
    )
    assert [(c.id, c.arguments) for c in response.tool_calls] == [("a", {"n": 1}), ("b", {"n": 2}), ("call_2", {})]


def test_a_name_that_is_repeated_is_not_doubled():
    response = decode(
        calls(piece("{", call_id="a", name="look")), calls(piece("}", call_id="a", name="look")), chunk({}, "stop")
    )
    assert [(c.name, c.raw) for c in response.tool_calls] == [("look", "{}")]


def test_custom_and_legacy_calls_may_arrive_in_pieces():
    custom = [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "sel"}}]
    response = decode(
        chunk({"tool_calls": custom}), calls({"index": 0, "custom": {"input": "ect"}}), chunk({}, "tool_calls")
    )
    assert [(c.custom, c.raw) for c in response.tool_calls] == [(True, "select")]
    legacy = [
        chunk({"function_call": {"name": "joke", "arguments": ""}}),
        chunk({"function_call": {"arguments": "{}"}}),
    ]
    assert [(c.name, c.raw) for c in decode(*legacy, chunk({}, "function_call")).tool_calls] == [("joke", "{}")]


def test_reasoning_in_pieces_is_joined_for_the_echo():
    def detail(**fields):
        return chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, **fields}]})

    response = decode(
        detail(text="Let me ", signature=None),
        detail(text="see."),
        detail(signature="sig"),
        calls(piece("{}", call_id="a", name="look")),
        chunk({}, "tool_calls"),
    )
    whole = {"type": "reasoning.text", "index": 0, "text": "Let me see.", "signature": "sig"}
    assert response.echo["reasoning_details"] == [whole]
    assert response.reasoning_content == "Let me see."


def choice_chunk(index: int, text: str = "", reason: str | None = None) -> bytes:
    return event({"choices": [{"index": index, "delta": {"content": text}, "finish_reason": reason}]})


def test_only_the_first_choice_by_index_is_shown_and_read():
    decoder = OPENAI.stream_decoder()
    wire = (
        choice_chunk(1, "B"),
        choice_chunk(0, "A"),
        choice_chunk(1, "b", "length"),
        choice_chunk(0, "a", "stop"),
        DONE,
    )
    shown = [delta.text for data in wire for delta in decoder.feed(data)]
    response = decoder.close()
    assert (shown, response.text, response.stop_reason) == (["A", "a"], "Aa", Reason.END_TURN)


def test_a_server_that_numbers_its_choices_from_1_is_read_at_the_end():
    response = decode(choice_chunk(2, "C"), choice_chunk(1, "B"), choice_chunk(1, "b", "length"), DONE)
    assert (response.text, response.stop_reason) == ("Bb", Reason.MAX_TOKENS)


def test_a_message_beside_the_deltas_is_not_read_twice():
    full = {"message": {"role": "assistant", "content": "Hello"}}
    response = decode(chunk({"content": "Hel"}), chunk({"content": "lo"}, choice=full), chunk({}, "stop", choice=full))
    assert response.text == "Hello"


# What is no stream ---------------------------------------------------------------------------------------------------

WHOLE = {"id": "c-1", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "Grüße"}}]}


@pytest.mark.parametrize("before", [b"", b"\n\n \r\n", b"\xef\xbb\xbf"])
def test_a_complete_answer_to_a_streaming_request_is_decoded_as_one(before):
    body = before + json.dumps(WHOLE, ensure_ascii=False).encode()
    assert decode(body) == OPENAI.decode_response(WHOLE)
    assert decode(*(body[i : i + 1] for i in range(len(body)))) == OPENAI.decode_response(WHOLE)


def test_a_complete_answer_that_breaks_off_keeps_its_text_and_ignores_its_reason():
    body = {"choices": [{"finish_reason": "stop", "message": {"content": "A long answer"}}]}
    response = decode(json.dumps(body).encode()[:-10])
    assert (response.text, response.incomplete_stream) == ("A long a", True)
    assert (response.stop_reason, response.error.kind) == (Reason.UNKNOWN, "incomplete_stream")


@together
@pytest.mark.parametrize(
    "body",
    [
        b"<!doctype html><html></html>",
        b"upstream connect error",
        b"",
        b"  \n",
        b"dat",
        b"null",
        b'{"a": 1}',
        b'{"type": "message", "content": []}',
        b'{"choices": []} trailing',
        b"data: hello\n\n",
        b"data: hello\n\ndata: [DONE]\n\n",
        b"data: {oops}\n\ndata: {'choices': []}\n\ndata: [DONE]\n\n",
        b"data: 1\n\ndata: null\n\ndata: []\n\n",
        b"data: {}\n\n",
        b'data: {"type": "message_start"}\n\n',
        b'event: ping\ndata: {"type": "ping"}\n\n',
        b"[]",
        b"\xff\xfe",
    ],
)
def test_a_payload_that_is_not_a_chat_completion_is_refused_in_any_chunking(body):
    with pytest.raises(DecodeError):
        decode(body)
    with pytest.raises(DecodeError):
        decode(*(body[i : i + 1] for i in range(len(body))))


@together
@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("array", [False, True])
def test_chunks_without_event_framing_are_read_as_a_stream(array, size):
    chunks = [{"choices": [{"delta": {"content": text}, "finish_reason": None}]} for text in ("Grü", "ße")]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "length"}], "usage": {"completion_tokens": 4}})
    lines = "\n".join(json.dumps(one) for one in chunks)
    wire = (json.dumps(chunks) if array else lines).encode()
    response = decode(*(wire[i : i + size] for i in range(0, len(wire), size)))
    assert (response.text, response.stop_reason, response.usage) == ("Grüße", Reason.MAX_TOKENS, TokenUsage(0, 4))
    before_the_reason = wire[: wire.index(b'"finish_reason": "length"')]
    broken = decode(before_the_reason)
    assert (broken.text, broken.stop_reason, broken.incomplete_stream) == ("Grüße", Reason.UNKNOWN, True)


def test_lines_that_are_not_chunks_are_refused():
    with pytest.raises(DecodeError, match="no chat completion"):
        decode(b'{"status": "pulling"}\n{"status": "success"}\n')


@given(st.text(st.sampled_from("aé😀\U0010ffff\n"), min_size=1, max_size=6), st.integers(1, 3))
def test_characters_split_by_a_gateway_are_joined(text, units):
    """JavaScript cuts by UTF-16 units, so half of an emoji can come in each of two pieces."""
    wide = text.encode("utf-16-le")
    halves = [wide[i : i + 2 * units].decode("utf-16-le", "surrogatepass") for i in range(0, len(wide), 2 * units)]
    deltas = [{"content": half, "reasoning_content": half} for half in halves]
    wire = [f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode() for delta in deltas]
    wire += [calls(piece('{"a": "', call_id="c", name="look", index=0))]
    wire += [
        f"data: {json.dumps({'choices': [{'delta': {'tool_calls': [piece(half)]}}]})}\n\n".encode() for half in halves
    ]
    decoder = OPENAI.stream_decoder()
    shown = "".join(delta.text for data in [*wire, calls(piece('"}'))] for delta in decoder.feed(data))
    response = decoder.close()
    assert (response.text, response.reasoning_content, shown) == (text, text, text)
    assert (*response.tool_calls, *response.broken_tool_calls)[0].raw == '{"a": "' + text + '"}'


def test_an_incomplete_character_at_the_end_is_replaced():
    response = decode(b'data: {"choices": [{"delta": {"content": "a\\ud83d"}}]}\n\n', DONE)
    assert response.text == "a\ufffd"


def test_unrepresentable_numbers_lose_neither_the_event_nor_its_reason():
    digits = "9" * 5000
    event_ = '{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": %s}}'
    response = decode(b"data: " + (event_ % digits).encode() + b"\n\n")
    assert (response.text, response.stop_reason, response.usage) == ("Hi", Reason.END_TURN, None)


def test_html_is_refused_at_its_first_bytes_and_again_at_close():
    decoder = OPENAI.stream_decoder()
    with pytest.raises(DecodeError, match="it begins with “<html>”"):
        decoder.feed(b"<html>")
    with pytest.raises(DecodeError):
        decoder.feed(b"data: x\n\n")
    with pytest.raises(DecodeError):
        decoder.close()


def test_an_unreadable_event_among_readable_ones_is_skipped():
    response = decode(
        chunk({"content": "a"}), b"data: {oops\n\n", event({"type": "ping"}), chunk({"content": "b"}, "stop")
    )
    assert (response.text, response.stop_reason) == ("ab", Reason.END_TURN)


# Nothing a provider sends raises anything else -----------------------------------------------------------------------

# fmt: off
KEYS = st.sampled_from([
    "choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments", "finish_reason",
    "native_finish_reason", "stop_reason", "usage", "error", "code", "status", "index", "id", "type", "refusal",
    "reasoning", "reasoning_content", "reasoning_details", "text", "custom", "input", "x_groq", "object", "model",
    "truncated", "function_call", "prompt_tokens", "completion_tokens", "metadata", "raw", "details", "retryDelay",
    "extra_content", "total_tokens",
])
# fmt: on
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["stop", "length", "{", "\ud800", "error"])
)
SHAPES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)
CHUNKS = st.fixed_dictionaries(
    {"choices": st.lists(st.dictionaries(KEYS, SHAPES, max_size=4) | SHAPES, max_size=2)},
    optional={"usage": SHAPES, "error": SHAPES, "model": SHAPES, "id": SHAPES, "object": SHAPES},
)


@given(SHAPES | CHUNKS, st.none() | st.integers(0, 5))
def test_any_json_gives_a_response_or_a_decode_error(payload, cap):
    try:
        response = OPENAI.decode_response(payload, max_tokens=cap)
    except DecodeError:
        return
    assert isinstance(response, ChatResponse)
    f"{response.text}{response.raw_stop_reason}{response.model}{response.refusal}{response.error}".encode()


@given(st.lists(SHAPES | CHUNKS, max_size=5), st.sampled_from(["", "error", "x"]), st.booleans())
def test_any_events_give_a_response_or_a_decode_error(payloads, name, done):
    stream = b"".join(
        (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(payload).encode() + b"\n\n"
        for payload in payloads
    )
    try:
        response = decode(stream + DONE * done)
    except DecodeError:
        return
    assert decode(*(bytes([byte]) for byte in stream + DONE * done)) == response


@given(
    st.binary(max_size=200) | st.text(max_size=50).map(str.encode),
    st.sampled_from([b"", b"data: ", b"{", b'{"choices":', b"event: error\ndata:"]),
)
def test_any_bytes_give_a_response_or_a_decode_error(data, head):
    with contextlib.suppress(DecodeError):
        assert isinstance(decode(head + data), ChatResponse)
    OPENAI.decode_error(500, {}, head + data)
    OPENAI.decode_error(200, {}, head + data)


@given(CHUNKS, st.data())
def test_a_document_cut_anywhere_is_not_a_natural_end(payload, data):
    body = json.dumps(payload).encode()
    try:
        response = decode(body[: data.draw(st.integers(1, len(body) - 1))])
    except DecodeError:
        return
    assert response.incomplete_stream
    assert response.stop_reason not in (Reason.END_TURN, Reason.TOOL_CALL)


def test_a_server_that_sends_the_answers_identity_late_is_read():
    said = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "a"}, "finish_reason": None}]},
        {"id": "late", "model": "m", "choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": None}]},
        {"id": "late", "model": "m", "choices": [{"index": 0, "delta": {"content": "c"}, "finish_reason": None}]},
        {"id": "late", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    decoder = get_provider("openai").stream_decoder()
    deltas = decoder.feed(b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in said))
    response = decoder.close()
    assert [delta.text for delta in deltas] == ["a", "b", "c"]
    assert (response.text, response.response_id, response.model) == ("abc", "late", "m")


@pytest.mark.parametrize(
    "beside",
    [
        {"usage": {"prompt_tokens": 3, "completion_tokens": 4}},
        {"error": {"message": "It broke.", "type": "server_error"}},
        {"x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}},
    ],
)
def test_fields_beside_the_text_of_a_chunk_are_read(beside):
    named = {"id": "i", "model": "m", "object": "chat.completion.chunk"}
    first, second = ({**named, "choices": [{"index": 0, "delta": {"content": t}}]} for t in "ab")
    end = {**named, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    decoder = get_provider("openai").stream_decoder()
    decoder.feed(b"".join(event(one) for one in (first, {**second, **beside}, end)))
    response = decoder.close()
    assert response.text == "ab"
    assert (response.error is not None) == ("error" in beside)
    assert (response.usage is not None) == ("error" not in beside)
