from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import LazySettings
from django.db import connections
from django.test import Client
from django.utils import timezone
from joserfc.jwk import RSAKey

from dashboard.accounts import openid_views, services
from dashboard.accounts.audit.models import Entry
from dashboard.accounts.external_users import external_user_for
from dashboard.accounts.models import ExternalIdentity, User
from dashboard.accounts.openid_connect import Person, ProviderError
from dashboard.agents.models import Project
from dashboard.gateway.selectors import keys_of
from dashboard.gateway.services import key_create
from dashboard.platform.errors import StartError
from dashboard.platform.sign_in_provider import SignInProvider, provider_read, roles_read

from .conftest import HERE
from .openid_provider import CLIENT, SECRET, Provider, shared_key
from .test_views import PASSWORD, is_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(settings: LazySettings) -> Iterator[Provider]:
    found = Provider()
    settings.SIGN_IN_PROVIDER = SignInProvider(found.issuer, CLIENT, SECRET, "Example SSO", roles={"watcher": {"*"}})
    openid_views._client_of.cache_clear()
    yield found
    openid_views._client_of.cache_clear()
    found.close()


@pytest.fixture
def browser() -> Client:
    return Client(headers={"host": HERE})


def come_back(browser: Client, provider: Provider, *, wanted: str = "/account/"):
    sent = browser.get("/sign-in/oidc/", {"next": wanted})
    back = urlsplit(provider.approve(sent["Location"]))
    return browser.get(back.path, {name: values[0] for name, values in parse_qs(back.query).items()})


def roles_of(user: User) -> set[str]:
    return set(user.groups.values_list("name", flat=True))


def test_the_sign_in_page_offers_openid_connect_and_returns_to_the_requested_page(browser: Client, provider: Provider):
    page = browser.get("/sign-in/?next=/account/").content.decode()
    assert 'href="/sign-in/oidc/?next=%2Faccount%2F"' in page
    assert "Sign in with Example SSO" in page
    response = come_back(browser, provider)
    assert (response.status_code, response["Location"]) == (302, "/account/")
    assert response["Referrer-Policy"] == "no-referrer"
    assert is_in(browser)


def test_without_a_provider_openid_connect_is_absent(browser: Client):
    assert "Sign in with" not in browser.get("/sign-in/").content.decode()
    assert browser.get("/sign-in/oidc/").status_code == 404
    assert browser.get("/sign-in/oidc/return/?code=a&state=b").status_code == 404


def test_a_first_sign_in_creates_a_user_without_a_password(browser: Client, provider: Provider):
    provider.claims = {"preferred_username": "Ada Lovelace", "email": "ada@example.com", "email_verified": True}
    come_back(browser, provider)
    user = User.objects.get(username="Ada-Lovelace")
    assert (user.email, user.has_usable_password(), user.is_staff, user.is_superuser) == (
        "ada@example.com",
        False,
        False,
        False,
    )
    assert roles_of(user) == {"watcher"}


def test_a_later_sign_in_finds_the_same_user_despite_a_changed_name(browser: Client, provider: Provider):
    provider.claims = {"preferred_username": "ada"}
    come_back(browser, provider)
    provider.claims = {"preferred_username": "ada.king"}
    come_back(Client(headers={"host": HERE}), provider)
    assert ExternalIdentity.objects.get().user.username == "ada"


@pytest.mark.parametrize("name", ["operator", "bootstrap", "Bob"])
def test_an_existing_name_does_not_give_access_to_that_account(browser: Client, provider: Provider, name: str):
    bob = User.objects.create_user("bob", "bob@example.com", PASSWORD)
    provider.claims = {"preferred_username": name, "email": "bob@example.com", "email_verified": True}
    come_back(browser, provider)
    assert ExternalIdentity.objects.get().user.username == f"{name}-2"
    assert ExternalIdentity.objects.get().user != bob


def test_claims_missing_from_the_id_token_are_fetched(browser: Client, provider: Provider):
    provider.user_info = {"preferred_username": "grace"}
    come_back(browser, provider)
    assert User.objects.filter(username="grace").exists()


def test_user_info_about_another_subject_is_refused(browser: Client, provider: Provider):
    provider.user_info = {"sub": "person-2", "preferred_username": "grace"}
    come_back(browser, provider)
    assert not is_in(browser)


def test_groups_decide_the_role_at_each_sign_in(browser: Client, provider: Provider, settings: LazySettings):
    roles, _ = roles_read("admin=platform, default/operator=ml, operator=research, watcher=*")
    settings.SIGN_IN_PROVIDER = SignInProvider(provider.issuer, CLIENT, SECRET, roles=roles)
    for groups, role in (
        (["ml", "platform"], "admin"),
        (["research"], "operator"),
        ([], "watcher"),
        ("ml", "operator"),
    ):
        provider.claims = {"preferred_username": "ada", "groups": groups}
        come_back(Client(headers={"host": HERE}), provider)
        user = User.objects.get(username="ada")
        assert roles_of(user) == {role}
        assert user.is_staff is (role == "admin")


def test_groups_decide_the_roles_in_other_projects_too(browser: Client, provider: Provider, settings: LazySettings):
    beside = Project.objects.create(name="beside")
    roles, others = roles_read("operator=ml, beside/admin=search, nowhere/admin=search")
    settings.SIGN_IN_PROVIDER = SignInProvider(provider.issuer, CLIENT, SECRET, roles=roles, project_roles=others)
    provider.claims = {"preferred_username": "ada", "groups": ["search"]}
    come_back(browser, provider)
    user = User.objects.get(username="ada")
    assert list(user.memberships.values_list("project", "role")) == [(beside.pk, "admin")]
    key_create(project=beside, by=user, name="ci")
    provider.claims = {"preferred_username": "ada", "groups": ["ml"]}
    come_back(Client(headers={"host": HERE}), provider)
    assert list(user.memberships.values_list("project__name", "role")) == [("default", "operator")]
    assert not keys_of(user).exists()


def test_a_group_for_a_missing_project_admits_nobody(browser: Client, provider: Provider, settings: LazySettings):
    roles, others = roles_read("operator=ml, nowhere/watcher=*")
    settings.SIGN_IN_PROVIDER = SignInProvider(provider.issuer, CLIENT, SECRET, roles=roles, project_roles=others)
    provider.claims = {"preferred_username": "ada", "groups": ["search"]}
    come_back(browser, provider)
    assert not is_in(browser)
    assert not User.objects.filter(username="ada").exists()


def test_a_role_given_by_an_admin_is_kept_where_no_group_decides(browser: Client, provider: Provider):
    provider.claims = {"preferred_username": "ada"}
    come_back(browser, provider)
    user = User.objects.get(username="ada")
    user.groups.set(user.groups.model.objects.filter(name="operator"))
    come_back(Client(headers={"host": HERE}), provider)
    assert roles_of(user) == {"operator"}


def test_a_user_without_any_required_group_is_refused(browser: Client, provider: Provider, settings: LazySettings):
    roles, _ = roles_read("operator=ml")
    settings.SIGN_IN_PROVIDER = SignInProvider(provider.issuer, CLIENT, SECRET, roles=roles)
    provider.claims = {"groups": ["sales"]}
    come_back(browser, provider)
    assert not is_in(browser)
    assert "None of your groups at" in browser.get("/sign-in/").content.decode()
    assert not User.objects.exists()


def test_a_user_refused_for_missing_groups_loses_the_roles_that_groups_gave(
    browser: Client, provider: Provider, settings: LazySettings
):
    beside = Project.objects.create(name="beside")
    roles, others = roles_read("admin=ml, beside/admin=ml")
    settings.SIGN_IN_PROVIDER = SignInProvider(provider.issuer, CLIENT, SECRET, roles=roles, project_roles=others)
    provider.claims = {"preferred_username": "ada", "groups": ["ml"]}
    come_back(browser, provider)
    user = User.objects.get(username="ada")
    key_create(project=beside, by=user, name="ci")
    provider.claims = {"preferred_username": "ada", "groups": ["sales"]}
    again = Client(headers={"host": HERE})
    come_back(again, provider)
    assert not is_in(again)
    user.refresh_from_db()
    assert (roles_of(user), user.memberships.count(), user.is_staff) == (set(), 0, False)
    assert not keys_of(user).exists()


def test_a_deactivated_account_stays_deactivated(browser: Client, provider: Provider):
    come_back(Client(headers={"host": HERE}), provider)
    User.objects.update(is_active=False)
    come_back(browser, provider)
    assert not is_in(browser)


OTHER = RSAKey.generate_key(2048, parameters={"kid": "one"})
LIES: dict[str, dict[str, Any]] = {
    "for another client": {"claims": {"aud": "somebody-else"}},
    "for two, and meant for another": {"claims": {"aud": [CLIENT, "x"], "azp": "x"}},
    "by another issuer": {"claims": {"iss": "https://elsewhere.example"}},
    "that has expired": {"claims": {"exp": 1_000_000_000}},
    "without an end": {"claims": {"exp": None}},
    "without a subject": {"claims": {"sub": None}},
    "of an empty subject, which could be several people": {"claims": {"sub": ""}},
    "of a blank subject": {"claims": {"sub": " \t"}},
    "of a subject that is too long": {"claims": {"sub": "a" * 256}},
    "of a subject that is no text": {"claims": {"sub": "\ud800"}},
    "of another sign-in": {"claims": {"nonce": "another"}},
    "without a nonce": {"claims": {"nonce": None}},
    "signed by another key": {"signs_with": OTHER},
    "signed with the client's secret": {"signs_with": shared_key(), "header": {"alg": "HS256"}},
    "that nobody signed": {"signs_with": None},
}


@pytest.mark.parametrize("lie", LIES)
def test_an_invalid_id_token_does_not_sign_in(browser: Client, provider: Provider, lie: str):
    for name, value in LIES[lie].items():
        setattr(provider, name, value)
    response = come_back(browser, provider)
    assert (response.status_code, response["Location"]) == (302, "/sign-in/")
    assert not is_in(browser)
    assert not User.objects.exists()
    assert "failed. Try again" in browser.get("/sign-in/").content.decode()


def test_the_code_of_another_browser_is_refused(browser: Client, provider: Provider):
    sent = Client(headers={"host": HERE}).get("/sign-in/oidc/")
    back = urlsplit(provider.approve(sent["Location"]))
    browser.get("/sign-in/oidc/")  # an attempt of its own
    browser.get(f"{back.path}?{back.query}")
    assert not is_in(browser)
    assert "in another browser" in browser.get("/sign-in/").content.decode()


@pytest.mark.parametrize("query", ["", "code=a", "state=b", "code=a&state=b", "error=access_denied"])
def test_a_callback_without_a_started_sign_in_is_refused(browser: Client, provider: Provider, query: str):
    assert browser.get(f"/sign-in/oidc/return/?{query}")["Location"] == "/sign-in/"
    assert provider.asked == []


def test_a_sign_in_declined_at_the_provider_is_reported(browser: Client, provider: Provider):
    state = parse_qs(urlsplit(browser.get("/sign-in/oidc/")["Location"]).query)["state"][0]
    browser.get("/sign-in/oidc/return/", {"error": "access_denied", "state": state})
    assert "Example SSO did not sign you in" in browser.get("/sign-in/").content.decode()


def test_a_tampered_cookie_is_not_a_sign_in_attempt(browser: Client, provider: Provider):
    browser.get("/sign-in/oidc/")
    browser.cookies[openid_views.COOKIE] = "x" + browser.cookies[openid_views.COOKIE].value
    assert browser.get("/sign-in/oidc/return/?code=a&state=b")["Location"] == "/sign-in/"


def test_a_failing_provider_or_a_wrong_issuer_is_reported_in_words(browser: Client, provider: Provider):
    provider.metadata = {"issuer": "https://elsewhere.example"}
    browser.get("/sign-in/oidc/")
    assert "failed. Try again" in browser.get("/sign-in/").content.decode()
    provider.metadata, provider.status = {}, 500
    assert come_back(browser, provider)["Location"] == "/sign-in/"
    provider.close()
    openid_views._client_of.cache_clear()
    assert browser.get("/sign-in/oidc/")["Location"] == "/sign-in/"


def test_wrong_codes_are_counted_by_address(browser: Client, provider: Provider):
    provider.claims = {"nonce": "another"}
    for _ in range(10):
        come_back(browser, provider)
        browser.get("/sign-in/")
    provider.claims = {}
    come_back(browser, provider)
    assert not is_in(browser)
    assert "Too many failed attempts from your address" in browser.get("/sign-in/").content.decode()


def test_metadata_and_keys_are_fetched_once(browser: Client, provider: Provider):
    for _ in range(3):
        come_back(Client(headers={"host": HERE}), provider)
    assert sorted(path for path in provider.asked if path != "/me") == ["/.well-known/openid-configuration", "/keys"]


def test_unauthenticated_visitors_create_no_session(browser: Client, provider: Provider):
    browser.get("/sign-in/oidc/")
    browser.get("/sign-in/oidc/return/?code=a&state=b")
    assert "whystop_session" not in browser.cookies


def test_no_credentials_from_a_netrc_file_are_sent(
    browser: Client, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password hidden")
    monkeypatch.setenv("NETRC", str(netrc))
    come_back(browser, provider)
    assert is_in(browser)
    assert provider.credentials == {"/.well-known/openid-configuration": "", "/keys": "", "/me": "Bearer a"}


def test_signing_in_is_in_the_audit_log(browser: Client, provider: Provider):
    provider.claims = {"preferred_username": "ada"}
    come_back(browser, provider)
    assert [(entry.by, entry.action) for entry in Entry.objects.all()] == [("ada", "sign-in/oidc/return")]


def test_redirects_to_other_sites_are_refused(browser: Client, provider: Provider):
    assert come_back(browser, provider, wanted="https://elsewhere.example/")["Location"] != "https://elsewhere.example/"


def test_the_owner_can_still_sign_in_by_link(provider: Provider):
    code = services.one_time_code_create()
    client = Client(headers={"host": HERE})
    client.get(f"/sign-in/?code={code}")
    assert is_in(client)


def test_invalid_settings_are_refused_with_a_remedy():
    assert provider_read("", {"WHYSTOP_OIDC_CLIENT_ID": "x"}) == SignInProvider()
    with pytest.raises(StartError, match="WHYSTOP_OIDC_CLIENT_ID is not"):
        provider_read("https://sso.example", {})
    with pytest.raises(StartError, match="must be an https address"):
        provider_read("http://127.0.0.1.example", {"WHYSTOP_OIDC_CLIENT_ID": "x"})
    for roles in ("admin", "boss=x", "admin=", "=x"):
        with pytest.raises(StartError, match="write role=group"):
            roles_read(roles)
    read = provider_read("https://sso.example", {"WHYSTOP_OIDC_CLIENT_ID": "x", "WHYSTOP_OIDC_CLIENT_SECRET": "hidden"})
    assert read.role_of(frozenset()) == "watcher"
    assert "hidden" not in repr(read)


def test_a_user_of_the_provider_cannot_set_a_password_here(browser: Client, provider: Provider):
    come_back(browser, provider)
    page = browser.get("/account/").content.decode()
    assert "You sign in with Example SSO" in page
    sent = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    assert browser.post("/account/password/", sent).status_code == 403
    assert not User.objects.get().has_usable_password()


def test_a_signed_in_user_stays_signed_in(browser: Client, provider: Provider):
    sent = browser.get("/sign-in/oidc/")
    bob = User.objects.create_user("bob", password=PASSWORD)
    browser.force_login(bob)
    back = urlsplit(provider.approve(sent["Location"]))
    browser.get(f"{back.path}?{back.query}")
    assert browser.session["_auth_user_id"] == str(bob.pk)
    assert not ExternalIdentity.objects.exists()


def test_the_session_ends_twelve_hours_after_sign_in_despite_activity(browser: Client, provider: Provider):
    come_back(browser, provider)
    session, later = browser.session, timezone.now() + timedelta(hours=11)
    ends = session.get_expiry_date(modification=later)
    assert timedelta(hours=11) < ends - timezone.now() <= timedelta(hours=12)


def test_an_unresponsive_provider_is_not_retried_for_a_while(browser: Client, provider: Provider):
    provider.close()
    browser.get("/sign-in/oidc/")
    client = openid_views._client(provider_of(provider))
    assert client._asked_again_at > 0
    with pytest.raises(ProviderError, match="is asked again after"):
        client.begin(redirect_uri="https://whystop.example/", wanted="/")


def provider_of(provider: Provider) -> SignInProvider:
    return SignInProvider(provider.issuer, CLIENT, SECRET, "Example SSO", roles={"watcher": {"*"}})


def test_a_lookalike_of_the_owners_name_is_distinguished(browser: Client, provider: Provider):
    provider.claims = {"preferred_username": "ｏｐｅｒａｔｏｒ"}
    come_back(browser, provider)
    assert ExternalIdentity.objects.get().user.username == "operator-2"


UNSTORABLE = [
    {"sub": "a\0b"},
    {"email": "x" * 300, "email_verified": True},
    {"email": "\ud800@example.org", "email_verified": True},
    {"email": 5},
    {"preferred_username": "\ud800\0", "groups": ["\ud800", "\0"]},
]


@pytest.mark.parametrize("claims", UNSTORABLE)
def test_claims_that_cannot_be_stored_are_reported_or_omitted(
    browser: Client, provider: Provider, claims: dict[str, object]
):
    provider.claims = claims
    assert come_back(browser, provider).status_code == 302
    assert is_in(browser) is ("sub" not in claims)


def test_a_code_from_another_provider_is_not_redeemed(browser: Client, provider: Provider):
    back = urlsplit(provider.approve(browser.get("/sign-in/oidc/")["Location"]))
    answer = f"{back.path}?{back.query}&iss="
    assert browser.get(answer + "https://elsewhere.example")["Location"] == "/sign-in/"
    assert not is_in(browser)
    browser.get(answer + provider.issuer)
    assert is_in(browser)


@pytest.mark.django_db(transaction=True)
def test_the_same_person_on_two_devices_at_once_is_one_user():
    person = Person("https://sso.example", "person-1", "ada", "", frozenset())
    provider = SignInProvider("https://sso.example", CLIENT, roles={"watcher": frozenset({"*"})})

    def come(_: int) -> int:
        try:
            return external_user_for(person, provider).pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(come, range(8)))) == 1
    assert [user.username for user in User.objects.all()] == ["ada"]
