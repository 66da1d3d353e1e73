"""Making and revoking keys, naming models: what is wrong is said in words, and nothing secret is stored."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import Membership, User
from dashboard.accounts.selectors import api_token_find
from dashboard.accounts.services import api_token_create, api_token_revoke
from dashboard.agents.models import Agent, Connection, Project
from dashboard.agents.selectors import project_default
from dashboard.gateway import services
from dashboard.gateway.access.limits import LIMITS
from dashboard.gateway.access.stored_keys import keys_by_digest
from dashboard.gateway.models import Alias, GatewayKey
from dashboard.gateway.selectors import keys_left, keys_seen_by
from tests.dashboard.gateway.conftest import KeyOf

pytestmark = pytest.mark.django_db


def test_a_key_is_stored_only_as_its_digest(key_of: KeyOf):
    key, secret = key_of()
    stored = GatewayKey.objects.filter(pk=key.pk).values_list().get()
    assert not any(secret in str(value) for value in stored)
    assert secret.startswith(key.prefix)
    assert len(secret) - len(key.prefix) >= 32  # what is not shown is more than 128 bits
    assert key_of()[1] != secret


def opens(secret: str) -> bool:
    return bool(keys_by_digest([digest_of(secret)], now=timezone.now()))


@pytest.mark.parametrize("ending", ["revoked", "its parent revoked", "its user deleted"])
def test_a_key_ends_with_the_token_it_was_created_with(key_of: KeyOf, maker: User, ending: str):
    first, _ = api_token_create("leaked", user=maker)
    token, _ = api_token_create("made with it", user=maker, parent=first)
    _, secret = key_of(parent=token)
    _, apart = key_of()
    assert opens(secret)
    if ending == "its user deleted":
        token.user.delete()
    else:
        api_token_revoke(user=maker, token_id=(token if ending == "revoked" else first).pk)
    assert (opens(secret), opens(apart)) == (False, True)
    assert GatewayKey.objects.standing().count() == 1


def test_a_key_expires_no_later_than_the_token_it_was_created_with(key_of: KeyOf, maker: User):
    soon = timezone.now() + timedelta(hours=1)
    token, _ = api_token_create("short", user=maker, expires_at=soon)
    assert key_of(parent=token)[0].expires_at == soon
    assert key_of(parent=token, expires_at=soon + timedelta(days=9))[0].expires_at == soon
    assert key_of(parent=token, expires_at=soon - timedelta(minutes=9))[0].expires_at == soon - timedelta(minutes=9)


def test_an_expired_token_cannot_create_a_key(key_of: KeyOf, maker: User):
    token, _ = api_token_create("ended", user=maker)
    api_token_revoke(user=maker, token_id=token.pk)
    with pytest.raises(ValidationError, match="has just ended"):
        key_of(parent=token)
    assert not GatewayKey.objects.exists()


def left() -> dict[str, str]:
    return {key.name: key.creator_left for key in keys_left()}


def test_keys_whose_creators_have_left_are_listed_with_the_reason(key_of: KeyOf, maker: User):
    beside = Project.objects.create(name="beside")
    gone, closed, former = (User.objects.create_user(name) for name in ("gone", "closed", "former"))
    chief = User.objects.create_user("chief", is_superuser=True)
    for user in (gone, closed, former, chief):
        services.key_create(project=beside, by=user, name=f"of {user}")
    Membership.objects.create(project=beside, user=maker, role="operator")
    services.key_create(project=beside, by=maker, name="of a member")
    services.key_create(project=project_default(), by=former, name="revoked")[0].delete()
    gone.delete()
    User.objects.filter(pk=closed.pk).update(is_active=False)
    assert left() == {
        "of gone": "account deleted",
        "of closed": "account deactivated",
        "of former": "no longer a member",
    }
    assert services.keys_revoke_left(project=project_default()) == 0
    assert services.keys_revoke_left(project=beside) == 3
    assert left() == {}


def test_in_a_single_project_a_creator_leaves_only_with_the_account(key_of: KeyOf, maker: User):
    key_of()
    assert left() == {}
    User.objects.filter(pk=maker.pk).update(is_active=False)
    assert left() == {"notebook": "account deactivated"}
    GatewayKey.objects.update(expires_at=timezone.now())
    assert left() == {}, "an expired key opens nothing"


def test_all_keys_of_a_creator_are_revoked_at_once(key_of: KeyOf, maker: User):
    secrets = [key_of()[1] for _ in range(3)]
    other = User.objects.create_user("other", is_superuser=True)
    _, theirs = services.key_create(project=project_default(), by=other, name="theirs")
    elsewhere = services.key_create(project=Project.objects.create(name="beside"), by=maker, name="elsewhere")[1]
    assert services.keys_revoke_own(by=maker) == 4
    assert not opens(elsewhere)
    assert [opens(secret) for secret in (*secrets, theirs)] == [False, False, False, True]
    assert services.keys_revoke_own(by=maker) == 0


def test_a_key_is_not_a_user_token(key_of: KeyOf):
    assert api_token_find(key_of()[1], now=timezone.now()) is None


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"name": " "}, "name", "blank"),
        ({"name": "x" * 81}, "name", "80"),
        ({"scope": ["nobody"]}, "scope", "There is no agent “nobody”"),
        ({"scope": ["nowhere/gpt-4o"]}, "scope", "There is no connection “nowhere”"),
        ({"scope": ["simulator/"]}, "scope", "does not name a model"),
        ({"scope": ["x" * 300]}, "scope", "too long"),
        ({"scope": [f"simulator/{n}" for n in range(101)]}, "scope", "at most 100"),
        ({"mode": "sometimes"}, "mode", "sometimes"),
        ({"requests_per_minute": 0}, "requests_per_minute", "at least 1"),
        ({"tokens_per_day": 10**16}, "tokens_per_day", "too large"),
        ({"dollars_in_total": Decimal(-1)}, "dollars_in_total", "negative"),
        ({"dollars_per_day": Decimal("0.001")}, "dollars_per_day", "2 decimal"),
        ({"expires_at": timezone.now() - timedelta(days=1)}, "expires_at", "future"),
    ],
)
def test_faults_of_a_key_are_reported_by_field(near: Connection, key_of: KeyOf, fields, field: str, words: str):
    with pytest.raises(ValidationError) as caught:
        key_of(**fields)
    assert words in " ".join(caught.value.message_dict[field])
    assert not GatewayKey.objects.exists()


def test_a_scope_is_stored_without_duplicates_in_order(near: Connection, agent: Agent, key_of: KeyOf):
    key, _ = key_of(scope=[" simulator/* ", agent.name, "", "simulator/*", "simulator/vendor/model"])
    assert key.scope == ["simulator/*", agent.name, "simulator/vendor/model"]


def test_creators_see_and_revoke_their_own_keys_and_admins_all(key_of: KeyOf, maker: User):
    key, _ = key_of()
    other = User.objects.create_user("other")
    admin = User.objects.create_superuser("root")
    project = project_default()
    assert not keys_seen_by(other, project=project)
    assert not services.key_revoke(project=project, by=other, key_id=key.pk)
    assert list(keys_seen_by(maker, project=project)) == list(keys_seen_by(admin, project=project)) == [key]
    assert services.key_revoke(project=project, by=maker, key_id=key.pk)
    assert not services.key_revoke(project=project, by=admin, key_id=key.pk)
    assert not keys_seen_by(admin, project=project)


def test_every_limit_can_be_set(key_of: KeyOf):
    given = {name: Decimal(3) if name.startswith("dollars") else 3 for name in LIMITS}
    key, _ = key_of(**given)
    assert {name: getattr(key, name) for name in LIMITS} == given


def test_an_alias_has_one_target_and_an_unused_name(agent: Agent, near: Connection):
    project = agent.project
    alias = services.alias_create(project=project, name="gpt-4o", connection=near)
    assert (alias.target, str(alias)) == ("simulator/gpt-4o", "gpt-4o → simulator/gpt-4o")
    assert services.alias_create(project=project, name="best", agent=agent).target == agent.name
    for fields, words in (
        ({"name": "gpt-4o", "connection": near}, "exists already"),
        ({"name": agent.name, "connection": near}, "is an agent"),
        ({"name": "both", "connection": near, "agent": agent}, "an agent or a connection"),
        ({"name": "none"}, "an agent or a connection"),
        ({"name": "told", "agent": agent, "model": "m"}, "Leave this field empty"),
        ({"name": "two\nlines", "agent": agent}, "one line of printable characters"),
        ({"name": "..", "connection": near}, "“..” cannot be the name of a model"),
        ({"name": "up", "connection": near, "model": "../m"}, "“../m” cannot be the name of a model"),
    ):
        with pytest.raises(ValidationError, match=words):
            services.alias_create(project=project, **fields)
    with pytest.raises(IntegrityError), transaction.atomic():
        Alias.objects.create(project=project, name="both", agent=agent, connection=near)
    assert services.alias_delete(project=project, alias_id=alias.pk)
    assert not services.alias_delete(project=project, alias_id=alias.pk)
