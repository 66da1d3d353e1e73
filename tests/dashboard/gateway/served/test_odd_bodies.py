"""Requests whose bodies are sent in odd ways, or are odd in one place: told what is wrong, in OpenAI's form."""

import gzip
import json
import socket
from typing import Any
from urllib.parse import urlsplit

import brotli
import pytest

from dashboard.gateway.serving.request_body import MOST_BYTES
from tests.dashboard.gateway.served.conftest import AgentAt
from tests.dashboard.gateway.served.gate import Gate
from tests.dashboard.gateway.served.raw_provider import chunked

ASKED = {"model": "sim-odd-openai", "messages": [{"role": "user", "content": "Why?"}], "max_tokens": 20}
GOOD = json.dumps(ASKED).encode()
#: One of each kind that JSON has.
KINDS = {
    "null": None,
    "boolean": True,
    "integer": 7,
    "below": -1,
    "huge": 10**30,
    "decimal": 1.5,
    "string": "x",
    "array": [7],
    "object": {"a": 7},
    "deep": json.loads("[" * 150 + "]" * 150),
}
#: Fields that are read, and the kinds that they may be.
READ = {
    "model": {"string"},
    "messages": set(),
    "max_tokens": {"null", "integer"},
    "max_completion_tokens": {"null", "integer"},
    "n": {"null", "integer"},
    "stream": {"null", "boolean"},
    "stream_options": {"null"},
    "tools": {"null"},
    "functions": {"null"},
    "response_format": {"null", "object"},
}
DEEP_SCHEMA = json.loads('{"properties": {"a": ' * 60 + "{}" + "}}" * 60)
SCHEMAS = {
    "deep": DEEP_SCHEMA,
    "of itself": {"$ref": "#"},
    "of nothing": {"$ref": "#/$defs/none"},
    "from afar": {"$ref": "http://127.0.0.1:9/schema"},
    "a pattern that is none": {"type": "string", "pattern": "("},
    "a type that is none": {"type": "banana"},
    "an array of types": {"type": [7]},
}
PLACES: dict[str, Any] = {
    "a role that is an object": [{"role": {"a": 1}, "content": "x"}],
    "content that is a number": [{"role": "user", "content": 7}],
    "parts that are numbers": [{"role": "user", "content": [7]}],
    "a part of a type that is an array": [{"role": "user", "content": [{"type": ["text"], "text": "x"}]}],
    "calls that are text": [{"role": "assistant", "tool_calls": "x"}],
    "a call without a function": [{"role": "assistant", "tool_calls": [{"id": "c", "type": "function"}]}],
    "a result of no call": [{"role": "tool", "tool_call_id": "c", "content": "x"}],
    "a result of a number": [{"role": "tool", "tool_call_id": 7, "content": "x"}],
    "a function's result of no call": [{"role": "function", "name": ["x"], "content": "x"}],
    "no messages": [],
    "a message that is a list": [[]],
}


@pytest.fixture
def agent(agent_at: AgentAt) -> None:
    agent_at("sim-odd")


def spoken(gate: Gate, head: str, body: bytes) -> tuple[int, Any]:
    """Status and JSON of what a client is told that sends exactly these bytes, and no more after them."""
    parts = urlsplit(gate.address)
    with socket.create_connection((str(parts.hostname), parts.port or 0), timeout=30) as client:
        start = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {gate.token}\r\n"
        client.sendall(f"{start}Connection: close\r\n{head}\r\n\r\n".encode() + body)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    head_bytes, _, told = answer.partition(b"\r\n\r\n")
    return int(head_bytes.split()[1]), json.loads(told)


def is_refused(status: int, told: Any, expected: int = 400) -> None:
    error = told["error"]
    assert (status, error["type"]) == (expected, "invalid_request_error"), told
    assert error["message"]
    assert {"param", "code"} <= error.keys()


@pytest.mark.usefixtures("agent")
def test_chunked_bodies_are_read_and_incomplete_bodies_refused(gate: Gate):
    pieces = chunked(*(GOOD[n : n + 7] for n in range(0, len(GOOD), 7)))
    assert spoken(gate, "Transfer-Encoding: chunked", pieces)[0] == 200
    assert spoken(gate, f"Content-Length: {len(GOOD)}\r\nContent-Encoding: identity", GOOD)[0] == 200
    assert spoken(gate, f"Content-Length: {len(GOOD)}\r\nContent-Type: text/plain", GOOD)[0] == 200
    is_refused(*spoken(gate, f"Content-Length: {len(GOOD) - 9}", GOOD[:-9]))
    is_refused(*spoken(gate, "Content-Length: 0", b""))
    is_refused(*spoken(gate, "Transfer-Encoding: chunked", chunked()))


@pytest.mark.usefixtures("agent")
def test_a_compressed_body_is_decompressed_or_refused_with_an_explanation(gate: Gate):
    packed = gzip.compress(GOOD)

    def sent(body: bytes, coding: str) -> tuple[int, Any]:
        return spoken(gate, f"Content-Length: {len(body)}\r\nContent-Encoding: {coding}", body)

    assert sent(packed, "gzip")[0] == 200
    assert sent(brotli.compress(GOOD), "br")[0] == 200
    status, told = sent(packed, "compress")
    is_refused(status, told, 415)
    assert "gzip" in told["error"]["message"]
    is_refused(*sent(packed[:-9], "gzip"))
    is_refused(*sent(gzip.compress(b" " * MOST_BYTES + GOOD), "gzip"), 413)
    is_refused(*spoken(gate, f"Content-Length: {len(packed)}", packed))


@pytest.mark.usefixtures("agent")
def test_an_oversized_body_is_refused_with_an_explanation(gate: Gate):
    is_refused(*spoken(gate, f"Content-Length: {MOST_BYTES + 1}", b"{"), 413)
    is_refused(*spoken(gate, f"Content-Length: {'9' * 17}", b"{"), 413)
    large = gate.post(b" " * (MOST_BYTES - len(GOOD)) + GOOD)
    assert large.status == 200, "so much is read"
    many = (b"%x\r\n" % 2**20 + b" " * 2**20 + b"\r\n") * (MOST_BYTES // 2**20) + chunked(GOOD)
    is_refused(*spoken(gate, "Transfer-Encoding: chunked", many), 413)


@pytest.mark.usefixtures("agent")
def test_a_field_of_the_wrong_type_is_named(gate: Gate, subtests: pytest.Subtests):
    for name, right in READ.items():
        for kind in KINDS.keys() - right:
            with subtests.test(name, kind=kind):
                body = {**ASKED, name: KINDS[kind]}
                if name == "max_completion_tokens":
                    del body["max_tokens"]
                answer = gate.post(json.dumps(body).encode())
                if name == "model" and answer.status == 404:
                    continue
                is_refused(answer.status, answer.json)
                assert kind == "null" or name in str(answer.json["error"]), answer.json


@pytest.mark.usefixtures("agent")
def test_messages_and_schemas_with_one_unusual_value_are_refused_or_answered(gate: Gate, subtests: pytest.Subtests):
    for name, messages in PLACES.items():
        with subtests.test(name):
            answer = gate.post(json.dumps({**ASKED, "messages": messages}).encode())
            is_refused(answer.status, answer.json)
    for name, schema in SCHEMAS.items():
        with subtests.test(f"a schema {name}"):
            wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
            answer = gate.post(json.dumps({**ASKED, "response_format": wanted}).encode())
            assert answer.status in {200, 400, 502}, answer.body[:300]
            assert answer.status == 200 or answer.json["error"]["message"]
