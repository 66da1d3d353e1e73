"""Credentials in a record are not stored, whichever reader reads it; what the model was asked and said is."""

import json
from typing import Any

import pytest

from dashboard.ingest.logs.exchanges import CREDENTIALS
from dashboard.turns.history import request_body_of
from dashboard.turns.models import Attempt
from tests.dashboard.ingest.logs import test_formats as formats
from tests.dashboard.ingest.logs.writing import calls_in, chat_answer, chat_request, imported, lines

KEY = "sk-not-to-be-kept-0123456789"
HEADERS = {"Authorization": f"Bearer {KEY}", "X-Trace": "1"}
ASKED, ANSWER = chat_request(), chat_answer()
FLAT = {**ASKED, "response": ANSWER}


def cassette(body: Any) -> dict[str, Any]:
    (one,) = formats.VCR["interactions"]
    return {**one, "request": {**one["request"], "body": json.dumps(body)}}


HELD: list[dict[str, Any]] = [
    {"kwargs": {**ASKED, "api_key": KEY, "extra_headers": HEADERS}, "response": ANSWER},
    {**FLAT, "headers": HEADERS},
    {**FLAT, "Cookie": KEY},
    {**FLAT, "API-Key": KEY},
    {**FLAT, "aws_secret_access_key": KEY, "vertex_credentials": {"private_key": KEY}},
    {**FLAT, "request": {"headers": HEADERS, "path": "/v1"}},
    {**FLAT, "sent": [{"name": "X-Api-Key", "value": KEY}]},
    {**FLAT, "environment": json.dumps({"OPENAI_API_KEY": KEY})},
    {**FLAT, "curl": f"curl -H 'authorization: Bearer {KEY}'"},
    {**FLAT, "api_base": f"https://user:{KEY}@example.com/v1?key={KEY}"},
    {"messages": ASKED["messages"], "config": {"max_tokens": 16, "apikey": KEY}, "completion": ANSWER},
    {"input": ASKED["messages"], "config": {"max_tokens": 16, "api_key": KEY}, "output": ANSWER},
    {"request": ASKED, "response": {**ANSWER, "_hidden_params": {"additional_headers": {"set-cookie": KEY}}}},
    {"request": ASKED, "response": ANSWER, "url": f"https://example.com/v1/{KEY}/chat/completions"},
    {"request": {**ASKED, "tools": [{"type": "mcp", "headers": HEADERS, "authorization": KEY}]}, "response": ANSWER},
    cassette({**ASKED, "api_key": KEY}),
    {**formats.LITELLM, "proxy_server_request": {"headers": HEADERS, **ASKED}},
    {**formats.LITELLM, "model_parameters": {"max_tokens": 16, "api_key": KEY}},
    {**formats.LANGFUSE, "modelParameters": {"max_tokens": 16, "api_key": KEY}},
    {**formats.LANGFUSE, "input": {**ASKED, "extra_headers": HEADERS}},
]


@pytest.mark.parametrize("record", HELD)
def test_no_credential_of_a_record_is_kept_and_its_turn_says_so(record: Any) -> None:
    (call,) = calls_in(lines(record))
    assert KEY not in repr(call)
    assert CREDENTIALS in call.exchange.notes
    assert (call.content.text, call.content.input[-1].text, call.max_tokens) == ("Once upon", "Tell me a story.", 16)


def test_prompts_and_answers_are_left_unchanged() -> None:
    schema = {"type": "object", "properties": {"password": {"type": "string"}, "headers": {"type": "object"}}}
    login = {"name": "login", "description": "Uses basic authentication.", "parameters": schema}
    call = {"id": "c1", "type": "function", "function": {"name": "login", "arguments": json.dumps({"password": "x"})}}
    question = {"role": "user", "content": f"Is Bearer {KEY} a key?"}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    asked = chat_request(
        messages=[question, said], tools=[{"type": "function", "function": login}], pad_token="<pad>",
        docs="https://json-schema.org/draft-07/schema#",
    )  # fmt: skip
    heard = {"token": "Once", "logprob": -0.1}
    answer = {**ANSWER, "choices": [{**ANSWER["choices"][0], "logprobs": {"content": [heard]}}]}
    read, flat = calls_in(lines({"request": asked, "response": answer}, {**asked, "response": answer}))
    assert (flat.exchange.body, flat.exchange.notes) == (read.exchange.body, read.exchange.notes)
    assert read.exchange.body == asked
    assert CREDENTIALS not in read.exchange.notes


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("text/event-stream; charset=utf-8", "text/event-stream; charset=utf-8"),
        ("application/json; profile=" + KEY, "application/json"),
        ("Bearer " + KEY, ""),
        (KEY + "/json", ""),
    ],
)
def test_only_a_valid_content_type_is_kept_as_content_type(told: str, kept: str) -> None:
    around = {"status": 200, "headers": {"content-type": told}, "body": ANSWER}
    (call,) = calls_in(lines({"request": ASKED, "response": around}))
    assert call.exchange.content_type == kept


@pytest.mark.django_db
def test_the_stored_request_holds_no_credential() -> None:
    imported(lines(HELD[0]))
    assert KEY not in request_body_of(Attempt.objects.get())
