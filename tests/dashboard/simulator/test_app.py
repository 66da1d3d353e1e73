"""Addresses, bad requests, large requests, many requests."""

import asyncio
import base64
import io
import json
import struct
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from dashboard.simulator import texts
from dashboard.simulator.dialects import find
from dashboard.simulator.dialects.gemini import GEMINI
from dashboard.simulator.http_exchange import LONGEST_BODY
from dashboard.simulator.model_table import MODELS
from tests.together import together

from .client import Client, user


def test_the_models_are_listed(server: Client) -> None:
    listed = json.loads(server.send("GET", "/v1/models").body)
    foreign = {"sim-pause", "sim-cut-open"}  # what this dialect has no word for
    assert [model["id"] for model in listed["data"]] == [name for name in MODELS if name not in foreign]


def test_the_root_page_identifies_the_simulator(server: Client) -> None:
    assert b"simulator" in server.send("GET", "/").body
    assert (server.send("HEAD", "/").status, server.send("HEAD", "/").body) == (200, b"")


def test_unknown_urls_and_methods_are_named(server: Client) -> None:
    answer = server.send("GET", "/v1/nothing")
    assert (answer.status, answer.error["code"]) == (404, "unknown_url")
    answer = server.send("GET", "/v1/chat/completions")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"nan", b"\xff", b'"text"', b"[" * 100_000, b'{"model": ' + b"9" * 5000 + b"}"]
)
def test_broken_json_is_refused(server: Client, body: bytes) -> None:
    answer = server.send("POST", "/v1/chat/completions", body)
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")


@together
@pytest.mark.parametrize(
    ("changed", "error", "wording"),
    [
        ({"model": "gpt-4o"}, (404, "model_not_found"), "does not exist"),
        ({"model": None}, (400, "invalid_type"), "expected a string"),
        ({"messages": []}, (400, "empty_array"), "empty array"),
        ({"messages": None}, (400, "invalid_type"), "array of objects"),
        ({"messages": ["hi"]}, (400, "invalid_type"), "messages[0]"),
        ({"messages": [{"role": "king"}]}, (400, "invalid_value"), "'king'"),
        ({"messages": [{"role": []}]}, (400, "invalid_value"), "Supported values"),
        ({"max_tokens": 0}, (400, "integer_below_min_value"), "Expected a value >= 1, but got 0 instead"),
        ({"max_completion_tokens": -1}, (400, "integer_below_min_value"), "max_completion_tokens"),
        (
            {"max_tokens": 1_000_000},
            (400, "invalid_value"),
            "max_tokens is too large: 1000000. This model supports at most",
        ),
        ({"max_tokens": "60"}, (400, "invalid_type"), "expected an integer"),
        ({"max_tokens": True}, (400, "invalid_type"), "expected an integer"),
        ({"max_tokens": 1.5}, (400, "invalid_type"), "expected an integer"),
    ],
)
def test_requests_that_openai_rejects_are_rejected_with_its_message(
    server: Client, stream: bool, changed: dict[str, Any], error: tuple[int, str], wording: str
) -> None:
    body = {"model": "sim-essay", "messages": [user("Hi")], "stream": stream, **changed}
    answer = server.send("POST", "/v1/chat/completions", json.dumps(body).encode())
    assert (answer.status, answer.error["code"]) == error
    assert wording in answer.error["message"]


def test_unusual_harmless_fields_are_ignored(server: Client) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user"},
        {"role": "user", "content": [1, {"text": 2}]},
        {"role": "assistant", "tool_calls": [3]},
    ]
    answer = server.ask(
        "sim-odd", messages, tools=[None, {}], stream_options="yes", response_format=[], max_tokens=None, stream=None
    )
    assert answer.text == texts.ODD


def test_both_names_of_the_cap_apply(server: Client) -> None:
    assert server.ask("sim-essay", max_completion_tokens=7).tokens == 7
    assert server.ask("sim-essay", max_tokens=16_384).tokens < 400


@pytest.mark.parametrize("delay", ["-1", "soon", "nan", "10001"])
def test_an_invalid_pace_is_refused(server: Client, delay: str) -> None:
    answer = server.ask("sim-odd", headers={"x-sim-delay-ms": delay})
    assert (answer.status, "x-sim-delay-ms" in answer.error["message"]) == (400, True)


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_above_the_limit_is_refused(server: Client, chunked: bool) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b" " * (LONGEST_BODY // 8)

    data = parts() if chunked else io.BytesIO(b" " * (LONGEST_BODY + 1))
    async with aiohttp.ClientSession() as session, session.post(_address(server), data=data) as response:
        assert response.status == 413


def test_a_long_conversation_within_the_limit_is_answered(server: Client) -> None:
    answer = server.ask("sim-odd", [user("word " * 1_500_000)])
    assert answer.usage is not None
    assert answer.usage["prompt_tokens"] > 1_500_000


async def test_three_hundred_simultaneous_streams_keep_their_pace(server: Client) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask() -> bytes:
            body = {"model": "sim-essay", "messages": [user("Hi")], "stream": True, "max_tokens": 100}
            async with session.post(_address(server), json=body, headers={"x-sim-delay-ms": "10"}) as response:
                return await response.read()

        begun = time.monotonic()
        answers = await asyncio.gather(*(ask() for _ in range(300)))
        assert time.monotonic() - begun < 15
    assert all(body.count(b"data: ") == 103 and body.endswith(b"[DONE]\n\n") for body in answers)


def _address(server: Client) -> str:
    return f"http://127.0.0.1:{server.port}/v1/chat/completions"


def test_a_token_count_request_of_anthropic_is_counted_and_not_answered(server: Client) -> None:
    body = {"model": "sim-essay", "system": "Be brief.", "messages": [{"role": "user", "content": "Hello?"}]}
    answer = server.send("POST", "/v1/messages/count_tokens", json.dumps(body).encode())
    whole = server.send("POST", "/v1/messages", json.dumps({**body, "max_tokens": 9}).encode())
    assert json.loads(answer.body) == {"input_tokens": json.loads(whole.body)["usage"]["input_tokens"]}
    assert server.send("POST", "/v1/messages/count_tokens", b"{}").status == 400


def test_a_token_count_request_of_gemini_is_counted_and_not_answered(server: Client) -> None:
    body = {"contents": [{"parts": [{"text": "Hello?"}]}]}
    whole = server.send("POST", "/v1beta/models/sim-essay:generateContent", json.dumps(body).encode())
    tokens = json.loads(whole.body)["usageMetadata"]["promptTokenCount"]
    for asked in (body, {"generateContentRequest": body}):
        answer = server.send("POST", "/v1beta/models/sim-essay:countTokens", json.dumps(asked).encode())
        assert json.loads(answer.body) == {"totalTokens": tokens}


def test_texts_are_embedded_deterministically(server: Client) -> None:
    def vectors(**asked: object) -> list[Any]:
        answer = server.send("POST", "/v1/embeddings", json.dumps({"model": "any", **asked}).encode())
        assert answer.status == 200
        return [each["embedding"] for each in json.loads(answer.body)["data"]]

    first, other, again = vectors(input=["a", "b", "a"])
    assert first == again != other
    assert vectors(input="a") == [first]
    assert struct.unpack("<8f", base64.b64decode(vectors(input="a", encoding_format="base64")[0])) == tuple(first)
    assert server.send("POST", "/v1/embeddings", b'{"model": "any", "input": [1]}').error["code"] == "invalid_type"


def test_gemini_is_served_under_both_versions_of_its_url() -> None:
    for version in ("v1", "v1beta"):
        address = find(f"/{version}/models/sim-essay:generateContent")
        assert address is not None
        assert (address.dialect, address.place["model"]) == (GEMINI, "sim-essay")
