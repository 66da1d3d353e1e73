from html.parser import HTMLParser

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.accounts import guess_limiter, services
from dashboard.accounts.known_devices import COOKIE, is_known
from dashboard.accounts.models import ApiToken, User

from .conftest import HERE, csrf_of

PASSWORD = "a long enough sentence"


def sign_in(client: Client, *, address: str = "127.0.0.1", **typed: str):
    data = {"csrfmiddlewaretoken": csrf_of(client), **typed}
    return client.post("/sign-in/", data, REMOTE_ADDR=address)


def is_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def test_the_link_signs_in_once_and_continues(stranger: Client):
    code = services.one_time_code_create()
    response = stranger.get(f"/sign-in/?code={code}&next=/account/")
    assert (response.status_code, response["Location"]) == (302, "/account/")
    assert response["Referrer-Policy"] == "no-referrer"
    assert is_in(stranger)
    again = Client(headers={"host": HERE}).get(f"/sign-in/?code={code}")
    assert again.status_code == 401
    assert "works once" in again.content.decode()


def test_a_preview_of_the_link_does_not_use_it_up(stranger: Client):
    code = services.one_time_code_create()
    assert stranger.head(f"/sign-in/?code={code}").status_code == 200
    assert stranger.get(f"/sign-in/?code={code}").status_code == 302


@pytest.mark.parametrize("address", ["192.168.1.7", "::ffff:10.0.0.1", "8.8.8.8", "", "unix"])
def test_a_code_from_another_machine_is_refused_and_not_used_up(stranger: Client, address: str):
    code = services.one_time_code_create()
    response = stranger.get(f"/sign-in/?code={code}", REMOTE_ADDR=address)
    assert response.status_code == 401
    assert "on the machine that runs Whystop" in response.content.decode()
    assert sign_in(stranger, address=address, code=code).status_code == 401
    assert services.one_time_code_redeem(code)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_a_code_received_through_a_proxy_is_refused(stranger: Client, header: str):
    code = services.one_time_code_create()
    assert stranger.get(f"/sign-in/?code={code}", headers={header: "127.0.0.1"}).status_code == 401


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_a_code_can_be_entered_on_this_machine(stranger: Client, address: str):
    assert sign_in(stranger, address=address, code=services.one_time_code_create()).status_code == 302
    assert is_in(stranger)


@pytest.mark.parametrize("field", ["code", "token"])
def test_a_token_signs_in_from_anywhere_until_it_is_revoked(
    stranger: Client, made: tuple[ApiToken, str], operator: User, field: str
):
    assert sign_in(stranger, address="8.8.8.8", **{field: made[1]}).status_code == 302
    assert is_in(stranger)
    services.api_token_revoke(user=operator, token_id=made[0].pk)
    assert not is_in(stranger)
    assert stranger.get("/sign-in/").status_code == 200


def test_a_password_signs_in(stranger: Client, operator: User):
    services.password_set(user=operator, password=PASSWORD)
    assert sign_in(stranger, username="operator", password="wrong").status_code == 401
    assert not is_in(stranger)
    response = sign_in(stranger, username="operator", password=PASSWORD, next="/turns/1")
    assert response["Location"] == "/turns/1"
    assert is_in(stranger)


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({}, "Enter a one-time code"),
        ({"username": "operator"}, "Enter a one-time code"),
        ({"password": PASSWORD}, "Enter a one-time code"),
        ({"username": "operator", "password": PASSWORD}, "do not match"),
        ({"username": "nobody", "password": PASSWORD}, "do not match"),
        ({"code": "x"}, "works once"),
        ({"code": "x" * 501}, "too long"),
        ({"username": "op\x00rator", "password": PASSWORD}, "too long"),
        ({"token": "\x00"}, "too long"),
    ],
)
def test_a_failed_sign_in_is_explained_and_the_input_is_not_echoed(
    stranger: Client, operator: User, typed: dict[str, str], sentence: str
):
    response = sign_in(stranger, **typed)
    page = response.content.decode()
    assert response.status_code in {400, 401}
    assert sentence in page
    assert PASSWORD not in page


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x>'])
def test_typed_input_is_never_rendered_as_markup(stranger: Client, name: str):
    page = sign_in(stranger, username=name, next=name).content.decode()
    assert name not in page


@pytest.mark.parametrize("address", ["127.0.0.1", "203.0.113.7"])
def test_after_ten_failures_the_address_must_wait_and_is_told_so(stranger: Client, token: str, address: str):
    for _ in range(10):
        assert sign_in(stranger, address=address, code="wrong").status_code == 401
    response = sign_in(stranger, address=address, code=token)
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 60
    assert "Try again in" in response.content.decode()
    assert stranger.get("/sign-in/").status_code == 200
    assert sign_in(stranger, address="203.0.113.8", code=token).status_code == 302


@pytest.mark.parametrize("form", [True, False])
def test_a_new_code_signs_the_owner_in_here_despite_earlier_failures(stranger: Client, operator: User, form: bool):
    for number in range(11):
        sign_in(stranger, code="wrong", username="operator")
        sign_in(stranger, address=f"203.0.113.{number}", username="operator", password="wrong")
    code = services.one_time_code_create()
    came = sign_in(stranger, code=code) if form else stranger.get(f"/sign-in/?code={code}")
    assert came.status_code == 302
    assert is_in(stranger)


def test_own_successes_allow_no_more_attempts_at_another_account(stranger: Client, operator: User):
    for user in (operator, User.objects.create(username="eve")):
        services.password_set(user=user, password=PASSWORD)
    guesses = []
    for _ in range(12):
        guesses.append(sign_in(stranger, address="203.0.113.7", username="operator", password="wrong").status_code)
        own = sign_in(Client(), address="203.0.113.7", username="eve", password=PASSWORD)
        assert own.status_code == (302 if len(guesses) < 10 else 429)
    assert guesses == [401] * 10 + [429] * 2


def test_ten_attempts_from_one_address_lock_the_account_for_nobody_else(stranger: Client, operator: User):
    services.password_set(user=operator, password=PASSWORD)
    for _ in range(12):
        sign_in(stranger, address="2001:db8:1:2::7", username="operator", password="wrong")
    near = sign_in(stranger, address="2001:db8:1:2::8", username="operator", password=PASSWORD)
    assert near.status_code == 429  # one customer has all of a /64
    assert sign_in(stranger, address="2001:db8:1:3::7", username="operator", password=PASSWORD).status_code == 302


def test_an_account_attacked_from_everywhere_is_locked_for_other_machines_only(stranger: Client, operator: User):
    for user in (operator, User.objects.create(username="eve")):
        services.password_set(user=user, password=PASSWORD)
    now = timezone.now()
    for number in range(100):
        counted = guess_limiter.count(guess_limiter.keys_of(f"203.0.113.{number}", "Operator"), now=now)
        assert isinstance(counted, guess_limiter.CountedGuess)
    shut = sign_in(stranger, address="198.51.100.1", username="operator", password=PASSWORD)
    assert shut.status_code == 429
    assert "sign_in_link" in shut.content.decode()
    assert sign_in(Client(), address="198.51.100.1", username="eve", password=PASSWORD).status_code == 302
    assert sign_in(stranger, username="operator", password=PASSWORD).status_code == 302  # on this machine


def test_the_browser_remembers_a_correct_password_by_a_cookie_that_grants_nothing(stranger: Client, operator: User):
    services.password_set(user=operator, password=PASSWORD)
    sign_in(stranger, username="operator", password="wrong")
    assert COOKIE not in stranger.cookies
    sign_in(stranger, username="operator", password=PASSWORD)
    assert is_known(stranger.cookies[COOKIE].value, "Operator")
    other = Client()
    other.cookies[COOKIE] = stranger.cookies[COOKIE].value
    assert other.get("/account/").status_code == 302


def test_a_session_cannot_be_used_to_guess_the_current_password(browser: Client, operator: User):
    services.password_set(user=operator, password=PASSWORD)
    browser.force_login(operator)
    form = {"csrfmiddlewaretoken": csrf_of(browser), "new_password1": "x" * 12, "new_password2": "x" * 12}
    said = [browser.post("/account/password/", {**form, "old_password": "wrong"}).status_code for _ in range(11)]
    assert said == [422] * 10 + [429]
    assert browser.post("/account/password/", {**form, "old_password": PASSWORD}).status_code == 429


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ("/admin/login/", "/sign-in/?next=%2Fadmin%2F"),
        ("/admin/login/?next=/admin/agents/agent/", "/sign-in/?next=%2Fadmin%2Fagents%2Fagent%2F"),
        ("/admin/login/?next=https://elsewhere.example/", "/sign-in/"),
        ("/admin/login/?next=/admin/login/", "/sign-in/"),
    ],
)
def test_the_admin_uses_the_same_sign_in_page(stranger: Client, asked: str, place: str):
    assert stranger.get(asked)["Location"] == place
    guess = {"csrfmiddlewaretoken": csrf_of(stranger), "username": "operator", "password": PASSWORD}
    assert stranger.post(asked, guess).status_code == 401
    assert not is_in(stranger)


def test_a_signed_in_user_continues_from_the_admin_sign_in_or_is_told_why_not(browser: Client):
    assert browser.get("/admin/login/?next=/admin/agents/agent/")["Location"] == "/admin/agents/agent/"
    assert browser.get("/admin/password_change/")["Location"] == "/account/"
    watcher = User.objects.create(username="watcher")
    services.password_set(user=watcher, password=PASSWORD)
    browser.force_login(watcher)
    told = browser.get("/admin/", follow=True)
    assert told.status_code == 403
    assert "staff status" in told.content.decode()
    guess = {"csrfmiddlewaretoken": csrf_of(browser), "username": "operator", "password": PASSWORD}
    assert browser.post("/admin/login/", guess).status_code == 405


@pytest.mark.parametrize("place", ["foo", "//elsewhere.example/", "javascript:alert(1)", "/sign-in/", "\x00"])
def test_a_signed_in_user_is_sent_to_the_first_steps_from_an_invalid_next_url(browser: Client, place: str):
    assert browser.get("/sign-in/", {"next": place})["Location"] == "/tour"


def test_the_form_requires_a_csrf_token(stranger: Client):
    response = stranger.post("/sign-in/", {"code": services.one_time_code_create()})
    assert response.status_code == 403
    assert "reload the page" in response.content.decode()


@pytest.mark.parametrize("wanted", ["https://elsewhere.example/", "//elsewhere.example"])
def test_signing_in_never_redirects_to_another_host(stranger: Client, wanted: str):
    response = stranger.get("/sign-in/", {"code": services.one_time_code_create(), "next": wanted})
    assert response["Location"] == "/tour"


def test_a_signed_in_user_is_redirected_from_the_sign_in_page(browser: Client):
    assert browser.get("/sign-in/?next=/account/")["Location"] == "/account/"


def test_signing_out_is_a_post_and_ends_the_session(browser: Client):
    empty = browser.get("/sign-out/")
    assert (empty.status_code, empty["Allow"]) == (405, "POST")
    assert "Go back and use the form" in empty.content.decode()
    assert "does not accept PUT requests, only GET" in browser.put("/healthz").content.decode()
    assert browser.post("/sign-out/", {"csrfmiddlewaretoken": csrf_of(browser)})["Location"] == "/sign-in/"
    assert not is_in(browser)


def test_a_password_is_set_once_and_then_changed_only_with_the_current_one(browser: Client, operator: User):
    def change(**typed: str) -> int:
        return browser.post("/account/password/", {"csrfmiddlewaretoken": csrf_of(browser), **typed}).status_code

    other = Client()
    other.force_login(operator)
    assert change(new_password1=PASSWORD, new_password2="another") == 422
    assert change(new_password1=PASSWORD, new_password2=PASSWORD) == 302
    assert (is_in(browser), is_in(other)) == (True, False)
    assert change(new_password1="x" * 12, new_password2="x" * 12) == 422
    assert change(old_password=PASSWORD, new_password1="x" * 12, new_password2="x" * 12) == 302


class _Secret(HTMLParser):
    found = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if "secret" in (dict(attrs).get("class") or ""):
            self.found = dict(attrs).get("value") or ""


def test_a_token_created_on_the_account_page_is_shown_once_works_and_can_be_revoked(browser: Client):
    data = {"csrfmiddlewaretoken": csrf_of(browser), "name": "ci", "lifetime": "7"}
    parser = _Secret()
    parser.feed(browser.post("/account/tokens/", data).content.decode())
    header = {"Authorization": f"Bearer {parser.found}"}
    assert Client().get("/account/", headers=header).status_code == 200
    page = browser.get("/account/").content.decode()
    assert parser.found not in page
    token = ApiToken.objects.get()
    assert f"{token.expires_at:%-d %b %Y, %H:%M} UTC" in page
    revoke = f"/account/tokens/{token.pk}/revoke/"
    assert browser.post(revoke, {"csrfmiddlewaretoken": csrf_of(browser)}).status_code == 302
    assert Client().get("/account/", headers=header).status_code == 401


@pytest.mark.parametrize("data", [{"lifetime": "never"}, {"name": "ci", "lifetime": "8"}, {"name": "x" * 81}])
def test_a_token_without_a_valid_name_and_lifetime_is_not_created(browser: Client, data: dict[str, str]):
    response = browser.post("/account/tokens/", {"csrfmiddlewaretoken": csrf_of(browser), **data})
    assert response.status_code == 422
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("visitor", "path"), [("stranger", "/sign-in/"), ("browser", "/account/"), ("browser", "/none")]
)
def test_no_page_has_inline_script_or_style(request: pytest.FixtureRequest, visitor: str, path: str):
    page = request.getfixturevalue(visitor).get(path).content.decode()
    assert "<style" not in page
    assert " style=" not in page
    assert " onclick=" not in page
    assert page.count("<script") == page.count("<script src=") + page.count('<script type="module" src=')


def test_the_sign_in_page_says_what_whystop_is(stranger: Client):
    page = " ".join(stranger.get("/sign-in/").content.decode().split())
    assert "Whystop records the turns of LLM agents, and answers two questions" in page
    assert "why did it stop, and what limit would have let it finish?" in page


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("Long enough 1", "Long enough 2", "The passwords do not match."),
        ("x", "x", "The new password must have at least 8 characters."),
        ("password", "password", "This password is too common. Choose another."),
    ],
)
def test_the_password_page_says_what_is_wrong_in_plain_words(browser: Client, first: str, second: str, words: str):
    typed = {"csrfmiddlewaretoken": csrf_of(browser), "new_password1": first, "new_password2": second}
    html = browser.post("/account/password/", typed).content.decode()
    assert words in html
    assert "Confirm new password" in html
    assert "’" not in html.split("password-title")[1]
