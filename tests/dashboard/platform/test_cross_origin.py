"""Which pages of other origins may call the gateway."""

import http.client

import pytest

from dashboard.platform.cross_origin import origins_read
from dashboard.runtime import asgi_application as asgi
from tests.dashboard.website import website

pytestmark = pytest.mark.django_db(transaction=True)
APP = "https://app.example"
DOORS = ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent", "/v1/embeddings",
         "/v1/models", "/v1/traces")  # fmt: skip


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(asgi.guarded, "_origins", frozenset({APP}))
    with website() as address:
        yield address.removeprefix("http://")


def asked(site: str, method: str, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(site)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def test_every_endpoint_answers_a_preflight_request_without_a_key(site: str):
    for door in DOORS:
        answer = asked(
            site, "OPTIONS", door, origin=APP, access_control_request_method="POST",
            access_control_request_headers="authorization,x-api-key,anthropic-version,x-stainless-os",
        )  # fmt: skip
        assert answer.status == 204, door
        assert answer.getheader("access-control-allow-origin") == APP
        assert "POST" in answer.getheader("access-control-allow-methods", "")
        assert answer.getheader("access-control-allow-headers", "").startswith("authorization,x-api-key")
        assert answer.getheader("access-control-allow-credentials") is None


def test_answers_and_errors_may_be_read_only_by_that_origin(site: str):
    answer = asked(site, "POST", "/v1/chat/completions", origin=APP, content_length="0")
    assert (answer.status, answer.getheader("access-control-allow-origin")) == (401, APP)
    assert answer.getheader("access-control-expose-headers") == "*"
    other = asked(site, "POST", "/v1/chat/completions", origin="https://evil.example", content_length="0")
    assert other.getheader("access-control-allow-origin") is None
    assert "origin" in other.getheader("vary", "").lower()


@pytest.mark.parametrize("origin", ["https://evil.example", "https://app.example.evil", "http://app.example", "null"])
def test_another_origin_is_not_allowed(site: str, origin: str):
    answer = asked(site, "OPTIONS", "/v1/chat/completions", origin=origin, access_control_request_method="POST")
    assert answer.status != 204
    assert answer.getheader("access-control-allow-origin") is None


def test_pages_and_the_api_are_open_to_no_origin(site: str):
    for path in ("/", "/api/v1/turns", "/metrics"):
        answer = asked(site, "OPTIONS", path, origin=APP, access_control_request_method="GET")
        assert answer.getheader("access-control-allow-origin") is None


def test_invalid_header_names_are_not_echoed(site: str):
    answer = asked(
        site, "OPTIONS", "/v1/models", origin=APP, access_control_request_method="GET",
        access_control_request_headers="a b; c",
    )  # fmt: skip
    assert answer.getheader("access-control-allow-headers") is None


def test_without_the_setting_no_origin_headers_are_sent():
    with website() as address:
        answer = asked(address.removeprefix("http://"), "POST", "/v1/models", origin=APP, content_length="0")
    assert answer.getheader("access-control-allow-origin") is None


def test_origins_are_parsed_and_invalid_ones_reported():
    assert origins_read(" https://App.example/, http://localhost:3000,* ") == {APP, "http://localhost:3000", "*"}
    for wrong in ("app.example", "https://app.example/path", "https://me@app.example"):
        with pytest.raises(ValueError, match="is no origin"):
            origins_read(wrong)
