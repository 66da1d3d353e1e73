"""Design §4.2: how each address answers a caller without valid credentials."""

import pytest
from django.test import Client, RequestFactory

from dashboard.accounts.access import AccessForm, access_form_of, next_url
from dashboard.accounts.models import ApiToken, User
from dashboard.exports.share_links.views import WRONG_TOKENS
from tests.together import together

MACHINE = [
    "/api/v1/turns",
    "/api/v1/turns/0192f7c1-0000-7000-8000-000000000000/attempts",
    "/api/v1/openapi.json",
    "/api/v1/docs",
    "/api/v1/capabilities",
    "/api/v1/simulator/scripts",
    "/api/v1/simulator/scripts/once/calls",
    "/api/never-heard-of",
    "/api",
    "/metrics",
    "/.well-known/openwop",
    "/.well-known/never-heard-of",
    "/v1/traces",
]
SHARED = ["/share", "/share/", "/share/never-heard-of", "/share/a/b", "/share/%00", "/share/a%0Ab"]
GATEWAY = ["/v1/chat/completions", "/v1/models", "/v1/never-heard-of", "/v1beta/models/m:generateContent"]
PAGES = [
    "/",
    "/turns/0192f7c1-0000-7000-8000-000000000000",
    "/turns/0192f7c1-0000-7000-8000-000000000000/replay",
    "/agents/triage/live",
    "/live/",
    "/policies/support/",
    "/metrics-board",
    "/admin/",
    "/admin/login/",
    "/account/",
    "/sign-out/",
    "/ws/timeline/",
    "/never-heard-of",
    "/healthz/deeper",
    "/sign-in/deeper",
    "/compare",
    "/import",
    "/turns/0192f7c1-0000-7000-8000-000000000000/share",
    "/turns/0192f7c1-0000-7000-8000-000000000000/comments",
    "/shared",
    "/sharex/token",
    "/staticky",
    "//healthz",
    "/%2e%2e/static/",
]
METHODS = ["get", "head", "post", "put", "patch", "delete", "options", "trace"]


@together
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", MACHINE)
def test_a_program_without_credentials_gets_401_and_problem_details(stranger: Client, path: str, method: str):
    response = getattr(stranger, method)(path)
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert response["Content-Type"] == "application/problem+json"
    if method != "head":
        assert set(response.json()) == {"type", "title", "status", "detail", "errors"}


@together
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", GATEWAY)
def test_the_gateway_answers_unauthenticated_requests_like_openai(stranger: Client, path: str, method: str):
    response = getattr(stranger, method)(path)
    assert response.status_code == 401
    if method != "head":
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}


@together
@pytest.mark.parametrize("path", PAGES)
def test_an_unauthenticated_page_request_is_sent_to_sign_in_and_back(stranger: Client, path: str):
    response = stranger.get(path + "?a=b", follow=True)
    assert response.redirect_chain[0][1] == 302
    assert response.status_code == 200
    assert response.request["PATH_INFO"] == "/sign-in/"
    assert b"<form" in response.content


@together
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options", "trace"])
@pytest.mark.parametrize("path", PAGES)
def test_other_methods_without_sign_in_get_401_and_the_sign_in_page(stranger: Client, path: str, method: str):
    response = getattr(stranger, method)(path)
    assert response.status_code == 401
    assert b"<form" in response.content


@together
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", SHARED)
def test_every_invalid_share_link_gives_the_same_response(
    stranger: Client, browser: Client, token: str, path: str, method: str
):
    WRONG_TOKENS.forget("127.0.0.1")
    headers = {"Authorization": f"Bearer {token}"}
    answers = [getattr(stranger, method)(path), getattr(browser, method)(path)]
    answers += [getattr(stranger, method)(path, headers=headers), getattr(stranger, method)("/share/none")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert b'href="/"' not in answers[0].content


def test_the_sign_in_page_has_a_form_and_no_link_into_the_application(stranger: Client):
    page = stranger.get("/sign-in/").content.decode()
    assert 'name="code"' in page
    assert 'name="password"' in page
    assert "<a " not in page


def test_an_unauthenticated_htmx_request_sends_the_whole_page_to_sign_in(stranger: Client):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/turns/1?seq=4"}
    response = stranger.get("/turns/1/step", headers=headers)
    assert response.status_code == 401
    assert response["HX-Redirect"] == "/sign-in/?next=%2Fturns%2F1%3Fseq%3D4"


@pytest.mark.parametrize("path", ["/healthz", "/static/css/tokens.css", "/static/none", "/sign-in/"])
def test_public_urls_need_no_sign_in(path: str):
    assert access_form_of(path) in {AccessForm.OPEN, AccessForm.SIGN_IN}


def test_a_public_url_ignores_an_invalid_token(stranger: Client):
    assert stranger.get("/healthz", headers={"Authorization": "Bearer nonsense"}).status_code != 401


def test_healthz_never_requires_a_csrf_token():
    assert Client(enforce_csrf_checks=True).post("/healthz").status_code == 405


@together
@pytest.mark.parametrize("path", [*MACHINE, *GATEWAY, *PAGES])
@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "bearer wrong", "Bearer wrong wrong"])
def test_an_invalid_token_is_refused_despite_a_session(browser: Client, path: str, header: str):
    assert browser.get(path, headers={"Authorization": header}).status_code == 401


def test_the_authentication_scheme_of_a_proxy_does_not_disturb_a_session(browser: Client):
    assert browser.get("/account/", headers={"Authorization": "Basic eDp5"}).status_code == 200


@pytest.mark.parametrize("path", ["/account/", "/admin/"])
def test_a_token_also_opens_pages(stranger: Client, token: str, path: str):
    assert stranger.get(path, headers={"Authorization": f"Bearer {token}"}).status_code == 200


@pytest.mark.parametrize("path", ["/api/never-heard-of", "/.well-known/never-heard-of", "/metrics/never-heard-of"])
def test_an_unknown_url_is_a_json_404_for_an_authenticated_program(stranger: Client, token: str, path: str):
    response = stranger.get(path, headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == 404
    assert response.json()["status"] == 404


def test_an_unknown_gateway_url_is_an_openai_error(stranger: Client, token: str):
    response = stranger.get("/v1/never-heard-of", headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"


def test_an_unknown_url_is_a_404_page_for_a_signed_in_user(browser: Client):
    response = browser.get("/never-heard-of")
    assert response.status_code == 404
    assert b"Page not found" in response.content


def test_the_page_of_a_missing_turn_links_back_and_marks_no_item_as_current(browser: Client):
    html = browser.get("/turns/01a1fbed-aba8-7701-99d1-643edbe4f3e2").content.decode()
    assert '<a class="btn primary" href="/">Open the timeline</a>' in html
    assert 'aria-current="page"' not in html


@pytest.mark.parametrize("path", ["/api/never-heard-of", "/v1/never-heard-of"])
def test_a_session_needs_a_csrf_token_at_the_api_and_a_bearer_token_does_not(browser: Client, token: str, path: str):
    assert browser.post(path).status_code == 403
    assert Client(enforce_csrf_checks=True).post(path, headers={"Authorization": f"Bearer {token}"}).status_code == 404


def test_a_token_is_deleted_with_its_user(stranger: Client, made: tuple[ApiToken, str], operator: User):
    operator.is_active = False
    operator.save()
    assert stranger.get("/account/", headers={"Authorization": f"Bearer {made[1]}"}).status_code == 401


@together
@pytest.mark.parametrize(
    "wanted",
    [
        "https://elsewhere.example/",
        "//elsewhere.example/",
        "///elsewhere.example",
        "http:///elsewhere.example",
        "\\\\elsewhere.example",
        "/\\elsewhere.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "https:elsewhere.example",
        "\x00/turns/",
        " //elsewhere.example",
        "/sign-in/?next=/",
        "/sign-out/",
        "",
    ],
)
def test_the_next_url_is_never_another_host_or_the_sign_in_page(wanted: str):
    assert next_url(RequestFactory().get("/sign-in/"), wanted) == "/"


@pytest.mark.parametrize("wanted", ["/turns/1?tab=raw#3", "http://testserver/turns/1"])
def test_the_next_url_is_kept_on_this_host(wanted: str):
    assert next_url(RequestFactory().get("/sign-in/"), wanted) == wanted
