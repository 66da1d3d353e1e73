"""Files and batches go through to the key's connection as they came, both ways, and count for their key."""

import json
from dataclasses import replace

import pytest
from aiohttp import web

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.gateway.services import key_create
from tests.dashboard.gateway.served.test_uploads import BOUNDARY, SOUND, form, part, sound
from tests.dashboard.serving import provider_of

LINES = b'{"custom_id": "1", "body": {"usage": {"prompt_tokens": 5, "completion_tokens": 7}}}\n' * 1000


BUDGETS = ("tokens_per_minute", "tokens_per_day", "tokens_in_total", "dollars_per_month", "dollars_in_total")


@pytest.fixture
def maker(transactional_db: None) -> User:
    return User.objects.create_user("maker")


@pytest.fixture
def heard(connected):
    """What a provider was asked: method, address with its query, content type and body."""
    asked: list[tuple[str, str, str | None, bytes]] = []

    async def answer(request: web.Request) -> web.Response:
        body = await request.read()
        asked.append((request.method, request.path_qs, request.headers.get("content-type"), body))
        if request.path.endswith("/content"):
            return web.Response(body=LINES, content_type="application/octet-stream")
        return web.json_response({"id": "file-1", "object": "file", "usage": {"input_tokens": 9, "output_tokens": 2}})

    with provider_of(answer, most=2**27) as address:
        connected("openai", name="store", base_url=address)
        yield asked


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/files?purpose=batch&limit=2", b""),
        ("GET", "/v1/files/file-1", b""),
        ("DELETE", "/v1/files/file-1", b""),
        ("GET", "/v1/batches?after=b", b""),
        ("POST", "/v1/batches", b'{"input_file_id": "file-1", "endpoint": "/v1/chat/completions"}'),
        ("GET", "/v1/batches/batch_1", b""),
        ("POST", "/v1/batches/batch_1/cancel", b""),
    ],
)
def test_a_request_is_forwarded_unchanged(gate, heard, method: str, path: str, body: bytes):
    answer = gate.send(method, path, body, {"Content-Type": "application/json"} if body else {})
    assert (answer.status, answer.json["id"]) == (200, "file-1")
    ((went, address, kind, sent),) = heard
    assert (went, address, sent) == (method, path.removeprefix("/v1"), body)
    assert kind == ("application/json" if body else None)


def test_a_file_is_forwarded_with_every_part_and_its_content_returned(gate, heard):
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    sent = form(part("purpose", b"batch"), sound())
    assert gate.send("POST", "/v1/files", sent, kind).status == 200
    (asked,) = heard
    assert SOUND in asked[3]
    assert b'name="purpose"\r\n\r\nbatch\r\n' in asked[3]
    assert b'name="model"' not in asked[3]
    assert gate.send("GET", "/v1/files/file-1/content", b"", {}).body == LINES


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/v1/files", 405),
        ("DELETE", "/v1/batches/b", 405),
        ("GET", "/v1/files/a/b", 404),
        ("GET", "/v1/files/..%2f..%2fmodels", 404),
        ("GET", "/v1/files/" + "x" * 201, 404),
        ("GET", "/v1/files?q=" + "x" * 3000, 414),
    ],
)
def test_other_requests_than_files_and_batches_are_not_forwarded(gate, heard, method: str, path: str, status: int):
    assert gate.send(method, path, b"", {}).status == status
    assert not heard


def test_a_connection_must_be_named_where_there_are_several(gate, heard, connected):
    connected("openai", name="other", base_url="http://127.0.0.1:9/v1")
    refused = gate.send("GET", "/v1/files", b"", {})
    assert refused.status == 400
    assert "default connection" in json.dumps(refused.json)
    assert gate.send("GET", "/v1/files", b"", {"x-whystop-connection": "store"}).status == 200
    assert gate.send("GET", "/v1/files", b"", {"x-whystop-connection": "nowhere"}).status == 404


def test_a_connection_without_these_endpoints_is_refused(gate, heard, connected):
    connected("gemini", name="google", base_url="http://127.0.0.1:9")
    refused = gate.send("GET", "/v1/files", b"", {"x-whystop-connection": "google"})
    assert refused.status == 400


def test_a_key_with_a_budget_can_read_batches_but_not_start_one(gate, heard, maker):
    keys = {name: key_create(project=project_default(), by=maker, name=name, **{name: 9})[1] for name in BUDGETS}
    for name, secret in keys.items():
        client = replace(gate, token=secret)
        refused = client.send("POST", "/v1/batches", b"{}", {"Content-Type": "application/json"})
        assert (refused.status, refused.json["error"]["code"]) == (403, "permission_denied"), name
        assert "budget" in refused.json["error"]["message"]
        assert client.send("GET", "/v1/batches", b"", {}).status == 200, name
    assert {method for method, *_ in heard} == {"GET"}
    _, secret = key_create(project=project_default(), by=maker, name="paced", requests_per_minute=9)
    assert replace(gate, token=secret).send("POST", "/v1/batches", b"{}", {}).status == 200
