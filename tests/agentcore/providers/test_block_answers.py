"""What holds for every answer of content blocks, however it is cut and whatever it says."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore.errors import DecodeError, ProviderError
from agentcore.messages import ChatRequest, ChatResponse, Message, Role
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.wires import (
    announced,
    answer,
    answer_events,
    asked,
    called,
    chunks,
    converse,
    framed,
    grown,
    message,
    message_stream,
    read,
    read_with_deltas,
    said,
    sse,
    thought,
)
from tests.examples import examples

BLOCKS = [
    said(0, "Gruß 😀\r\n"),
    thought(1, "Hm"),
    thought(2, "Hm", "sig"),
    called(3, "a", "post", '{"x": ', "[1, 2]}"),
    called(4, "b", "post", '{"x'),
]
EVENTS = [
    [grown(0, text="Gruß 😀\n")],
    [grown(1, reasoningContent={"text": "Hm"}), grown(1, reasoningContent={"signature": "s"})],
    asked(2, "a", "post", '{"x": ', "[1, 2]}"),
    asked(3, "b", "post", '{"x'),
    [{"throttlingException": {"message": "Slow down"}}],
]
REASONS = st.sampled_from(
    [None, "end_turn", "tool_use", "max_tokens", "refusal", "malformed_tool_use", "pause_turn", "x"]
)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, bytes]:
    """An answer and the dialect it is in."""
    reason = draw(REASONS)
    if draw(st.booleans()):
        blocks = draw(st.lists(st.sampled_from(BLOCKS), max_size=5))
        stream = message_stream(*blocks, reason=reason)
        as_chunks = chunks(*(json.loads(line[6:]) for line in stream.splitlines() if line.startswith(b"data: ")))
        return "anthropic", draw(st.sampled_from([stream, as_chunks, stream.replace(b"\n", b"\r\n")]))
    events = answer_events(
        *(e for block in draw(st.lists(st.sampled_from(EVENTS), max_size=5)) for e in block), reason=reason
    )
    return "bedrock", draw(st.sampled_from([converse, chunks]))(*events)


@given(bodies(), st.data())
def test_chunking_does_not_change_the_result(dialect_and_body, data):
    provider, body = dialect_and_body
    body = body[: data.draw(st.integers(len(body) // 2, len(body)))]
    expected = outcome(provider, body, len(body) or 1)
    for size in (1, 7, data.draw(st.integers(1, 300))):
        assert outcome(provider, body, size) == expected


def outcome(provider: str, body: bytes, size: int) -> object:
    try:
        response, deltas = read_with_deltas(provider, body, size=size, cap=9)
    except DecodeError as error:
        return str(error)
    return response, "".join(delta.text for delta in deltas), "".join(delta.tool_arguments for delta in deltas)


WORDS = """
    type message content text thinking tool_use input id name index delta usage stop_reason error code partial_json
    content_block_start content_block_delta message_delta message_start message_stop max_tokens output stopReason
    contentBlockStart contentBlockDelta contentBlockIndex messageStop metadata toolUse toolUseId reasoningContent
    reasoningText redactedContent citationsContent toolResult start outputTokens output_tokens inputTokens role
    assistant input_json_delta text_delta signature_delta citations_delta compaction_delta content_block signature
    end_turn refusal stop_details throttlingException bytes originalStatusCode __type
"""
KEYS = st.sampled_from([*WORDS.split(), "\ud800", "\0"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)


def check(response: ChatResponse) -> None:
    """What can be stored, sent back, and encoded again."""
    assert "\ud800" not in response.text + response.reasoning_content + (response.refusal or "")
    json.dumps(response.echo, ensure_ascii=False, allow_nan=False).encode()
    for call in response.broken_tool_calls:
        assert call.issue is not None
        assert not call.arguments
    assert all(call.name and call.issue is None for call in response.tool_calls)
    history = (Message(Role.ASSISTANT, response.text, response.tool_calls, echo=response.echo),)
    get_provider(response.provider).encode_request(ChatRequest("m", history, 9))


@settings(max_examples=examples(150))
@given(st.sampled_from(["anthropic", "bedrock"]), st.dictionaries(KEYS, VALUES, max_size=8))
def test_any_body_raises_only_decode_errors(provider, payload):
    codec = get_provider(provider)
    with suppress(DecodeError):
        check(codec.decode_response(payload, max_tokens=9))
    error = codec.decode_error(400, {"x-amzn-errortype": "?"}, json.dumps(payload).encode())
    assert isinstance(error, ProviderError)
    error.message.encode()


@settings(max_examples=examples(150))
@given(st.data())
def test_any_events_raise_only_decode_errors(data):
    provider = data.draw(st.sampled_from(["anthropic", "bedrock"]))
    kinds = ["content_block_start", "content_block_delta", "message_delta", "message_start", "message", "error", "x"]
    deltas = [
        "text_delta",
        "input_json_delta",
        "thinking_delta",
        "signature_delta",
        "citations_delta",
        "compaction_delta",
    ]
    some = st.fixed_dictionaries({}, optional={"type": st.sampled_from([*deltas, "text", "tool_use", "thinking", "x"])})
    inner = st.builds(lambda a, b: {**b, **a}, some, st.dictionaries(KEYS, VALUES, max_size=5))
    event = st.fixed_dictionaries(
        {"type": st.sampled_from(kinds), "index": st.integers(0, 2) | VALUES, "delta": inner, "content_block": inner}
    )
    unions = st.dictionaries(KEYS, inner | VALUES, min_size=1, max_size=2)
    events = data.draw(st.lists(event if provider == "anthropic" else unions, max_size=6))
    wire = data.draw(st.sampled_from([bare_sse, chunks]))
    with suppress(DecodeError):
        check(read(provider, wire(*events), size=50, cap=9))


def bare_sse(*events: dict) -> bytes:
    """As `sse`, but able to write lone surrogates."""
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


@settings(max_examples=examples(200))
@given(st.sampled_from(["anthropic", "bedrock"]), st.binary(max_size=60), st.binary(max_size=60), st.booleans())
def test_any_bytes_raise_only_decode_errors(provider, before, after, soundly_framed):
    body = before + converse({"messageStart": {}}) + after
    if soundly_framed:
        body = framed(before, event_type="chunk") + framed(after, event_type="contentBlockDelta")
    for attempt in (body, b"data: " + before + b"\n\n" + after):
        with suppress(DecodeError):
            check(read(provider, attempt, size=5))
    get_provider(provider).decode_error(500, {}, before)


@pytest.mark.parametrize("depth", [150, 250, 900, 100_000])
def test_deep_nesting_does_not_crash(depth):
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    streams = {
        "anthropic": sse(*called(0, "a", "b", deep.decode()))
        + b'data: {"type": "message_delta", "delta": '
        + deep
        + b"}\n\n",
        "bedrock": converse(*asked(0, "a", "b", deep.decode()), {"messageStop": {"stopReason": "tool_use"}}),
    }
    for provider, stream in streams.items():
        check(read(provider, stream))
    bodies = {
        "anthropic": json.dumps(message({"type": "tool_use", "id": "a", "name": "b", "input": "DEEP"})),
        "bedrock": json.dumps(answer({"toolUse": {"toolUseId": "a", "name": "b", "input": "DEEP"}})),
    }
    for provider, body in bodies.items():
        try:
            check(read(provider, body.encode().replace(b'"DEEP"', deep)))
        except DecodeError:
            assert depth > 500


def test_announced_blocks_that_never_arrive_are_ignored():
    response = read("bedrock", converse(*answer_events(announced(0), grown(0, text="Hi"), announced(1, image={}))))
    assert (response.text, response.tool_calls, response.broken_tool_calls) == ("Hi", (), ())


@pytest.mark.parametrize("keys_sorted", [False, True])
@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_a_body_cut_anywhere_is_an_incomplete_answer_once_recognizable(provider, keys_sorted):
    whole = message({"type": "text", "text": "Hello."}) if provider == "anthropic" else answer({"text": "Hello."})
    body = json.dumps(whole, sort_keys=keys_sorted).encode()
    begins = body.index(b"Hello.") + len('Hello.", "type": "text"')
    for end in range(begins, len(body)):
        response = read(provider, body[:end])
        assert (response.incomplete_stream, response.stop_reason) == (True, Reason.UNKNOWN)
        assert response.text == "Hello."
