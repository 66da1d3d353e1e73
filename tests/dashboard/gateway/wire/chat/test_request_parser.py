"""A request is read into a value, or what is wrong with it is said in the API's own words; nothing else happens."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.gateway.wire.chat.request_parser import read_request
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.parsed_request import MOST_TOKENS, ParsedRequest

HELLO = [{"role": "user", "content": "Hello?"}]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        *("model", "messages", "tools", "tool_choice", "functions", "function_call", "stream", "stream_options"),
        *("response_format", "n", "logprobs", "max_tokens", "max_completion_tokens", "stop", "role", "content"),
        *("type", "function", "name", "arguments", "id", "tool_calls", "json_schema", "schema", "include_usage"),
    ]
)
NEAR = st.recursive(
    JSON | st.sampled_from(["user", "assistant", "tool", "function", "json_schema", "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)


def read(**body):
    body.setdefault("model", "m")
    body.setdefault("messages", HELLO)
    return read_request(json.dumps(body).encode(), lambda _schema: None)


def asked(**body) -> ParsedRequest:
    found = read(**body)
    assert isinstance(found, ParsedRequest), found
    return found


def fault(**body) -> Fault:
    found = read(**body)
    assert isinstance(found, Fault), found
    return found


@given(st.binary(max_size=60))
def test_any_bytes_raise_no_unexpected_exception(raw):
    assert isinstance(read_request(raw, lambda _: None), ParsedRequest | Fault)


@given(st.dictionaries(NAMES, NEAR, max_size=8))
def test_any_similar_request_raises_no_unexpected_exception(body):
    found = read_request(json.dumps({"model": "m", **body}).encode(), lambda _: None)
    if isinstance(found, Fault):
        assert found.status == 400
        assert found.message
        assert "message" in found.told()["error"]


def test_omitted_fields_stay_unset():
    plain = asked()
    assert (plain.max_tokens, plain.stream, plain.include_usage, plain.tools, plain.several) == (
        None,
        False,
        False,
        (),
        "",
    )
    assert plain.fields == {}
    assert asked(max_tokens=None, stream=None, n=None, stop=None, tools=None, response_format=None).max_tokens is None


@pytest.mark.parametrize("cap", ["max_tokens", "max_completion_tokens"])
def test_a_cap_is_read_under_either_name(cap):
    found = asked(**{cap: 7})
    assert (found.max_tokens, found.cap) == (7, cap)
    for wrong in (0, -1, 1.5, "7", True, MOST_TOKENS + 1):
        assert fault(**{cap: wrong}).param == cap


def test_fields_not_read_here_are_forwarded():
    fields = {
        "temperature": 0.5,
        "stop": ["a"],
        "unheard_of": {"x": 1},
        "n": 1,
        "response_format": {"type": "json_object"},
    }
    assert asked(**fields).fields == fields


def test_several_choices_and_logprobs_are_detected():
    assert [asked(n=2).several, asked(logprobs=True).several, asked(n=1, logprobs=False).several] == [
        "n",
        "logprobs",
        "",
    ]


def test_a_schema_is_checked():
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    assert asked(response_format=wanted).envelope_schema == {"type": "object"}
    body = json.dumps({"model": "m", "messages": HELLO, "response_format": wanted}).encode()
    found = read_request(body, lambda _: "it is no good")
    assert isinstance(found, Fault)
    assert "it is no good" in found.message
    assert fault(response_format={"type": "json_schema"}).code == "missing_required_parameter"


def test_only_streaming_requests_ask_for_usage_in_the_stream():
    assert asked(stream=True, stream_options={"include_usage": True}).include_usage
    assert fault(stream_options={"include_usage": True}).param == "stream_options"
    assert fault(stream=True, stream_options={"include_usage": 1}).param == "stream_options.include_usage"


@pytest.mark.parametrize("number", ["1e999", "-1E+400", "1e0999", "9" * 250 + "e90", "1" + "0" * 400 + ".0", "NaN"])
def test_a_number_beyond_the_float_range_is_refused_before_storing(number: str):
    found = read_request(f'{{"model": "m", "messages": [], "temperature": {number}}}'.encode(), lambda _schema: None)
    assert isinstance(found, Fault)
    assert (found.status, found.message[:32]) == (400, "We could not parse the JSON body")


@pytest.mark.parametrize("number", ["1e300", "1e-999", "123456789e100"])
def test_a_large_number_is_accepted(number: str):
    body = json.dumps({"model": "m", "messages": HELLO})[:-1] + f', "temperature": {number}}}'
    assert isinstance(read_request(body.encode(), lambda _schema: None), ParsedRequest)
