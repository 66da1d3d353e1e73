import time
from datetime import timedelta

import pyotp
import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from dashboard.accounts import services, sessions, two_factor
from dashboard.accounts.audit.models import Entry
from dashboard.accounts.models import GuessCount, SecondFactor, User
from dashboard.accounts.two_factor import STEP
from tests.dashboard.pages import compact

from .conftest import HERE, csrf_of
from .test_views import PASSWORD, is_in, sign_in

RFC_SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  #: "12345678901234567890" in base32


def post(client: Client, address: str, **typed: str):
    return client.post(address, {"csrfmiddlewaretoken": csrf_of(client), **typed})


def key_of(user: User) -> str:
    factor = SecondFactor.objects.get(user=user)
    return two_factor.setup_key(bytes(factor.sealed).decode()).replace(" ", "")


def code_of(user: User) -> str:
    """What the user's app shows now."""
    return pyotp.TOTP(key_of(user)).now()


def begun(client: Client) -> str:
    """The key that the page shows to a browser that sets it up."""
    client.post("/account/two-factor/begin/", {"password": PASSWORD})
    return two_factor.setup_key(client.session[sessions.SETUP]).replace(" ", "")


@pytest.fixture
def owner(operator: User) -> User:
    services.password_set(user=operator, password=PASSWORD)
    return operator


@pytest.fixture
def at_home(owner: User) -> Client:
    """A browser that is signed in."""
    client = Client(headers={"host": HERE})
    client.force_login(owner)
    return client


@pytest.fixture
def guarded(owner: User) -> User:
    """A user whose password is not enough."""
    sealed = two_factor.new_secret()
    code = pyotp.TOTP(two_factor.setup_key(sealed).replace(" ", "")).now()
    assert two_factor.second_factor_set(user=owner, sealed=sealed, code=code)
    SecondFactor.objects.update(last_step=0)  # this code works again, or a test would have to wait for the next
    return owner


@pytest.fixture
def half_in(stranger: Client, guarded: User) -> Client:
    """A browser whose password was right."""
    assert sign_in(stranger, username="operator", password=PASSWORD, next="/account/")["Location"] == "/sign-in/code/"
    return stranger


def test_two_factor_is_set_up_on_the_account_page_with_a_code_of_the_app(at_home: Client, owner: User):
    assert "Off. With it" in at_home.get("/account/").content.decode()
    key = begun(at_home)
    page = at_home.get("/account/two-factor/").content.decode()
    assert key in page.replace(" ", "")
    assert "data:image/svg+xml" in page
    assert at_home.post("/account/two-factor/", {"code": "12345x"}).status_code == 422
    assert not two_factor.is_on(owner)
    shown = at_home.post("/account/two-factor/", {"code": pyotp.TOTP(key).now()}).content.decode()
    assert shown.count("<li>") == two_factor.RECOVERY_CODES
    assert two_factor.is_on(owner)
    assert "You have 10 unused recovery codes" in compact(at_home.get("/account/").content.decode())
    assert sessions.SETUP not in at_home.session


def test_enabling_two_factor_ends_sessions_opened_by_password_alone(at_home: Client, owner: User):
    thief = Client(headers={"host": HERE})
    sign_in(thief, username=owner.username, password=PASSWORD)
    assert is_in(thief)
    key = begun(at_home)
    at_home.post("/account/two-factor/", {"code": pyotp.TOTP(key).now()})
    assert SecondFactor.objects.filter(user=owner).exists()
    assert is_in(at_home)
    assert not is_in(thief)
    two_factor.second_factor_remove(user=owner)
    assert not is_in(thief)


@pytest.mark.parametrize("password", ["", "wrong", "\0"])
def test_setup_asks_for_the_current_password(at_home: Client, password: str):
    at_home.post("/account/two-factor/begin/", {"password": password})
    assert sessions.SETUP not in at_home.session
    assert at_home.get("/account/two-factor/")["Location"] == "/account/"


def test_wrong_current_passwords_are_counted(at_home: Client):
    for _ in range(10):
        at_home.post("/account/two-factor/begin/", {"password": "wrong"})
    at_home.post("/account/two-factor/begin/", {"password": PASSWORD})
    assert sessions.SETUP not in at_home.session
    assert "Too many attempts with a wrong current password" in at_home.get("/account/").content.decode()


def test_a_secret_shown_in_one_browser_is_useless_in_another(at_home: Client, owner: User):
    key, other = begun(at_home), Client(headers={"host": HERE})
    other.force_login(owner)
    assert begun(other) != key
    assert other.post("/account/two-factor/", {"code": pyotp.TOTP(key).now()}).status_code == 422


def test_a_correct_password_alone_does_not_sign_in(half_in: Client):
    assert not is_in(half_in)
    assert half_in.get("/api/v1/turns").status_code == 401
    assert "Enter a code" in half_in.get("/sign-in/code/").content.decode()


def test_the_code_of_the_app_signs_in_and_continues_to_the_requested_page(half_in: Client, guarded: User):
    response = post(half_in, "/sign-in/code/", code=code_of(guarded))
    assert (response.status_code, response["Location"]) == (302, "/account/")
    assert is_in(half_in)
    assert [(entry.by, entry.action) for entry in Entry.objects.all()] == [("operator", "sign-in/code")]


def test_a_code_works_once(half_in: Client, guarded: User):
    code = code_of(guarded)
    assert two_factor.code_redeem(user=guarded, code=code)
    assert post(half_in, "/sign-in/code/", code=code).status_code == 422
    assert not is_in(half_in)


@pytest.mark.parametrize(("steps", "works"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_the_apps_clock_may_be_half_a_minute_off(owner: User, monkeypatch: pytest.MonkeyPatch, steps: int, works: bool):
    # The secret and the time of RFC 6238's appendix B, where five steps in a row show different codes.
    monkeypatch.setattr(two_factor.time, "time", lambda: 1_111_111_109.0)
    SecondFactor.objects.create(user=owner, sealed=two_factor._fernet().encrypt(RFC_SECRET.encode()))
    shown = pyotp.TOTP(RFC_SECRET).at(1_111_111_109 + steps * STEP)
    assert two_factor.code_redeem(user=owner, code=shown) is works


def test_a_recovery_code_works_once_in_any_notation(half_in: Client, guarded: User):
    first, second, *_ = two_factor.recovery_codes_renew(user=guarded)
    assert post(half_in, "/sign-in/code/", code=first.replace(" ", "-").upper()).status_code == 302
    assert guarded.recovery_codes.count() == two_factor.RECOVERY_CODES - 1
    assert not two_factor.code_redeem(user=guarded, code=first)
    two_factor.recovery_codes_renew(user=guarded)
    assert not two_factor.code_redeem(user=guarded, code=second)


@pytest.mark.parametrize("code", ["", "000000", "0" * 500, "٠٠٠٠٠٠", "\0", "' OR 1=1 --"])
def test_an_invalid_code_is_refused(half_in: Client, code: str):
    assert post(half_in, "/sign-in/code/", code=code).status_code == 422
    assert not is_in(half_in)


def test_wrong_codes_are_counted_by_account(half_in: Client, guarded: User):
    for _ in range(10):
        assert post(half_in, "/sign-in/code/", code="000000").status_code == 422
    GuessCount.objects.filter(until__lt=timezone.now() + timedelta(minutes=2)).delete()  # those of the address
    refused = post(half_in, "/sign-in/code/", code=code_of(guarded))
    assert refused.status_code == 429
    assert "Too many wrong codes for this account" in refused.content.decode()
    assert not is_in(half_in)


def test_a_correct_password_is_remembered_for_five_minutes(half_in: Client, monkeypatch: pytest.MonkeyPatch):
    later = time.time() + sessions.PENDING_SECONDS + 1
    monkeypatch.setattr(sessions.time, "time", lambda: later)
    page = half_in.get("/sign-in/code/", follow=True)
    assert "Signing in took too long" in page.content.decode()


def test_a_password_changed_in_between_does_not_sign_in(half_in: Client, guarded: User):
    services.password_set(user=guarded, password="another long sentence")
    assert post(half_in, "/sign-in/code/", code=code_of(guarded))["Location"] == "/sign-in/"
    assert not is_in(half_in)


def test_the_second_step_redirects_unauthenticated_visitors(stranger: Client):
    assert stranger.get("/sign-in/code/")["Location"] == "/sign-in/"


def test_a_link_and_a_token_need_no_code(stranger: Client, guarded: User):
    code = services.one_time_code_create()
    assert stranger.get(f"/sign-in/?code={code}")["Location"] != "/sign-in/code/"
    assert is_in(stranger)
    other = Client(enforce_csrf_checks=True, headers={"host": HERE})
    sign_in(other, code=services.api_token_create("ci", user=guarded)[1])
    assert is_in(other)


def test_disabling_two_factor_asks_for_a_code(guarded: User):
    client = Client(headers={"host": HERE})
    client.force_login(guarded)
    client.post("/account/two-factor/remove/", {"code": "000000"})
    assert two_factor.is_on(guarded)
    client.post("/account/two-factor/remove/", {"code": code_of(guarded)})
    assert not two_factor.is_on(guarded)
    assert not guarded.recovery_codes.exists()
    assert (
        sign_in(Client(headers={"host": HERE}), username="operator", password=PASSWORD)["Location"] != "/sign-in/code/"
    )


def test_replacing_the_recovery_codes_asks_for_a_code(guarded: User):
    client = Client(headers={"host": HERE})
    client.force_login(guarded)
    before = set(guarded.recovery_codes.values_list("digest", flat=True))
    client.post("/account/two-factor/codes/", {"code": "000000"})
    assert set(guarded.recovery_codes.values_list("digest", flat=True)) == before
    client.post("/account/two-factor/codes/", {"code": code_of(guarded)})
    assert not set(guarded.recovery_codes.values_list("digest", flat=True)) & before


def test_opening_the_setup_page_changes_nothing(at_home: Client):
    assert at_home.get("/account/two-factor/")["Location"] == "/account/"


@pytest.mark.parametrize("action", ["", "begin/", "codes/", "remove/"])
def test_an_api_token_cannot_manage_two_factor(owner: User, action: str):
    secret = services.api_token_create("ci", user=owner)[1]
    by_header = Client(headers={"host": HERE, "authorization": f"Bearer {secret}"})
    assert by_header.post(f"/account/two-factor/{action}", {"password": PASSWORD}).status_code == 403
    in_session = Client(headers={"host": HERE})
    in_session.post("/sign-in/", {"code": secret})
    assert in_session.post(f"/account/two-factor/{action}", {"password": PASSWORD}).status_code == 403
    assert "Two-factor" not in in_session.get("/account/").content.decode()
    assert not SecondFactor.objects.exists()


def test_where_two_factor_is_required_a_password_sign_in_leads_to_setup(
    stranger: Client, owner: User, settings: LazySettings
):
    settings.TWO_FACTOR_REQUIRED = True
    sign_in(stranger, username="operator", password=PASSWORD, next="/account/")
    page = stranger.get("/sign-in/code/").content.decode()
    assert "Set up two-factor authentication" in page
    assert not is_in(stranger)
    key = two_factor.setup_key(stranger.session[sessions.SETUP]).replace(" ", "")
    shown = post(stranger, "/sign-in/code/", code=pyotp.TOTP(key).now()).content.decode()
    assert 'href="/account/"' in shown
    assert is_in(stranger)


def test_the_stored_secret_is_useless_without_the_secret_key(guarded: User, settings: LazySettings):
    factor, code = SecondFactor.objects.get(user=guarded), code_of(guarded)
    assert key_of(guarded).encode() not in bytes(factor.sealed)
    settings.SECRET_KEY = "another"
    assert not two_factor.code_redeem(user=guarded, code=code)


def test_an_admin_disables_two_factor_for_users_with_no_more_permissions(guarded: User):
    boss = User.objects.create_user("boss", password=PASSWORD, is_staff=True)
    member = User.objects.create_user("member", password=PASSWORD)
    boss.groups.add(boss.groups.model.objects.get(name="admin"))
    SecondFactor.objects.create(user=member, sealed=two_factor.new_secret().encode())
    client = Client(headers={"host": HERE})
    client.force_login(boss)
    chosen = {"action": "turn_two_factor_off", "_selected_action": [member.pk, guarded.pk]}
    client.post("/admin/accounts/user/", chosen)
    assert not SecondFactor.objects.filter(user=member).exists()
    assert SecondFactor.objects.filter(user=guarded).exists()


def test_a_new_setup_does_not_replace_an_active_factor(at_home: Client, guarded: User):
    at_home.force_login(guarded)  # the session of before has ended
    before = key_of(guarded)
    code = pyotp.TOTP(begun(at_home)).now()
    assert at_home.post("/account/two-factor/", {"code": code}).status_code == 302
    assert key_of(guarded) == before
