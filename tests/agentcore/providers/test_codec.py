"""What all codecs share, asked of each of them."""

from collections.abc import Callable
from typing import Any

import pytest

from agentcore.errors import CoreError, DecodeError
from agentcore.messages import ChatRequest, Message, Role
from agentcore.providers import PROVIDERS, Provider
from agentcore.providers.wire.codec import Codec
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.wires import chunks, read_with_deltas
from tests.together import together

CODECS = [pytest.param(codec, id=name) for name, codec in PROVIDERS.items()]
BEARERS = ["openai", "openai_responses", "ollama", "llama", "cohere", "bedrock"]


@together
@pytest.mark.parametrize("codec", CODECS)
def test_a_key_is_sent_in_the_headers_only_where_one_is_set(codec: Provider):
    without = codec.headers()
    assert without["Content-Type"] == "application/json"
    assert without == codec.headers("") == codec.headers(None)
    assert any("sk-1" in value for value in codec.headers("sk-1").values())


@together
@pytest.mark.parametrize("name", BEARERS)
def test_most_codecs_send_the_key_as_a_bearer_token(name: str):
    assert PROVIDERS[name].headers("sk-1")["Authorization"] == "Bearer sk-1"


@together
@pytest.mark.parametrize("codec", CODECS)
def test_paths_start_with_a_slash_and_minimums_are_positive(codec: Provider):
    assert codec.path(ChatRequest("m", (Message(Role.USER, "Hi"),), 60)).startswith("/")
    assert codec.output_floor >= 1


@together
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("raw", [None, "", "  ", "bananas", "\ud83d", "\0", "x" * 100_000])
def test_a_value_that_is_not_a_string_normalizes_to_unknown(codec: Provider, raw: str | None):
    assert codec.normalize(raw) is Reason.UNKNOWN
    assert str(codec.normalize(raw)) == "unknown"


@together
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("status", [0, 200, 204, 301, 400, 418, 429, 500, 599, 999])
@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b"null", b"[]", b"\x1f\x8b\x08", b'"x"', b"[[[[1]]]]"])
def test_no_failed_call_makes_a_codec_raise(codec: Provider, status: int, body: bytes):
    error = codec.decode_error(status, {"Retry-After": "soon", "X-Should-Retry": "perhaps"}, body)
    assert error.message
    assert error.retry_after is None


@together
@pytest.mark.parametrize("name", ["openai", "llama"])
@pytest.mark.parametrize("size", [1, 7, 0])
def test_a_vendors_chunks_are_also_read_inside_bedrock_messages(name: str, size: int):
    """OpenAI's open models on Bedrock answer InvokeModel in their own words."""
    wire = chunks(
        {"choices": [{"index": 0, "delta": {"content": "Grü"}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"content": "ße"}, "finish_reason": "length"}]},
    )
    response, deltas = read_with_deltas(name, wire, size=size)
    assert (response.text, response.stop_reason) == ("Grüße", Reason.MAX_TOKENS)
    assert [delta.text for delta in deltas] == ["Grü", "ße"]
    with pytest.raises(DecodeError, match="event stream cannot be read"):
        read_with_deltas(name, b"\0" * 40, size=size)


def test_a_codec_must_implement_address_encoding_and_decoding():
    with pytest.raises(TypeError, match="abstract"):
        Codec()  # type: ignore[abstract]


@together
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        (lambda codec: codec.stream_decoder().feed("x"), "data"),
        (lambda codec: codec.normalize(3), "raw"),
        (lambda codec: codec.decode_error("500", {}, b""), "status"),
        (lambda codec: codec.decode_error(500, [], b""), "headers"),
        (lambda codec: codec.decode_error(500, {}, "x"), "body"),
    ],
)
def test_invalid_input_of_a_codec_is_refused_by_the_argument_name(
    codec: Provider, wrong: Callable[[Any], object], argument: str
):
    with pytest.raises(CoreError, match=f"^{argument} must be "):
        wrong(codec)
