"""What a walk over all addresses needs: every address with what it names there, and everybody who may ask for it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from agentcore import Certainty
from dashboard.accounts import services
from dashboard.accounts.audit.models import Entry
from dashboard.accounts.models import ApiToken, Membership, User
from dashboard.accounts.projects import SESSION_KEY
from dashboard.accounts.roles import Role, may
from dashboard.agents import services as agents
from dashboard.agents.current_project import DEFAULT_PROJECT, working_in
from dashboard.agents.models import PolicyActivation, Project
from dashboard.agents.selectors import project_default
from dashboard.bench.long_turn import long_turn_store
from dashboard.board.alerts.services import alert_create
from dashboard.exports.share_links.services import link_create
from dashboard.exports.telemetry.models import Destination
from dashboard.exports.webhooks.models import Delivery
from dashboard.exports.webhooks.services import webhook_create
from dashboard.gateway.services import alias_create, key_create
from dashboard.inbox.models import Notice
from dashboard.ingest.refusals import refusals_note
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.models import Shadow
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import policy_attach
from dashboard.policies.predictions.models import Prediction
from dashboard.timeline.models import SavedView
from dashboard.tools.models import McpServer
from dashboard.turns.comments.services import comment_add
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Turn
from tests.dashboard.gateway.stored_calls import call_stored

WITH_BODY = ("POST", "PUT", "PATCH")
NAME = "walked"  #: of the agent, the connection and the policy
SAID = "Why?"  #: what turns, comments and the like say


def routes(patterns: list[URLPattern | URLResolver] | None = None, before: str = "") -> Iterator[str]:
    """Every route of the site; with and without a slash at its end it is the same view."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        else:
            yield route


ROUTES = sorted({route.rstrip("/"): route for route in sorted(set(routes()))}.values())


@dataclass(frozen=True)
class Caller:
    """Somebody with a browser or a program. `user`: None for who is nobody here."""

    name: str
    client: Client
    user: User | None = None
    bears: bool = False  #: something in the header by which programs come in
    known: bool = True  #: it is worth something

    def ask(self, method: str, address: str, *, undone: bool, quick: bool = False) -> HttpResponse:
        """The answer, read to its end where that needs no connection of its own. `undone`: whatever it changes is as
        before, and who signs out still is in. `quick`: as a part of a page would, where a refusal needs no page
        around it."""
        if undone:
            cookies = self.client.cookies.copy()
            with transaction.atomic():
                answer = self.ask(method, address, undone=False, quick=quick)
                transaction.set_rollback(True)
            self.client.cookies = cookies
            return answer
        body = b"{}" if method in WITH_BODY else b""
        headers = {"HX-Request": "true"} if quick and method not in {"GET", "HEAD"} else {}
        answer = self.client.generic(method, address, body, content_type="application/json", headers=headers)
        if isinstance(answer, StreamingHttpResponse) and not answer.is_async:
            list(answer.streaming_content)
        # One that is sent asynchronously gives the request's connection back first, with the transaction around this.
        return answer

    def may(self, permission: str | None) -> bool:
        return self.known and may(self.user, permission)


@dataclass(frozen=True)
class World:
    """One of everything that an address can name."""

    ids: Mapping[str, str]
    share: str  #: the path of a link that works
    key: str  #: of the gateway
    owner: User
    project: Project
    answer_id: str  #: by which the gateway's caller may ask for the turn's answer again

    def address(self, route: str) -> str:
        """The route with what there is."""
        if route.startswith("admin/"):
            return "/" + self._of_the_admin(route)
        if route == "share/<str:token>":
            return self.share
        if route.startswith("^share"):
            return "/share/nothing/here"
        return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: self.ids[found[1]], route)

    def _of_the_admin(self, route: str) -> str:
        found = re.match(r"admin/(\w+)/(\w+)/<(?:path:object_)?id>", route)
        if found:
            first = apps.get_model(found[1], found[2])._base_manager.order_by("pk").first()
            route = re.sub(r"<(?:path:object_)?id>", str(first.pk if first else 1), route)
        plain = re.sub(r"<path:\w+>", "1", route)
        return re.sub(r"\^?\(\?P<\w+>[^)]*\)[/$]*", "agents/", plain)


def made_world(project: Project | None = None, *, name: str = NAME, said: str = SAID) -> World:
    """One of everything in a project. `name` is what things are called, `said` what they say."""
    services.one_time_code_create()
    owner, project = User.objects.get(username=services.OPERATOR), project or project_default()
    near = agents.connection_create(project=project, name=name, provider="openai", base_url="http://127.0.0.1:1/v1")
    agent = agents.agent_create(
        project=project, name=name, connection=near, model=f"m-{name}", max_tokens=50, system_prompt=said
    )
    turn = long_turn_store(
        project=project, attempts=1, stream_bytes=1_000, agent_name=name, model=f"m-{name}", input_text=said
    )
    Turn.objects.filter(id=turn.id).update(tags=[name])
    version = policy_create(project=project, name=name)
    policy, now = version.policy, timezone.now()
    key, secret = key_create(project=project, by=owner, name=name)
    refusals_note(project.pk, key.pk, {said: 1}, at=now)
    call = call_stored(turn, at=now, caller=name, key_id=key.id, answer_id=f"resp_{turn.id.hex}")
    webhook, _ = webhook_create(
        project=project, by=owner, name=name, url=f"http://127.0.0.1:1/{name}", events=["turn.ended"]
    )
    Destination.objects.create(project=project, name=name, endpoint=f"http://127.0.0.1:1/{name}")
    McpServer.objects.create(project=project, name=f"mcp-{name}"[:24], url="http://127.0.0.1:1/mcp", enabled=False)
    Entry.objects.create(
        began_at=now, at=now, by=f"by-{name}", via="session", action="walked", target=f"/{name}", project_id=project.pk
    )
    with working_in(project):
        token = services.api_token_create(name, user=owner)[0]
    link, shared = link_create(turn=turn, lifetime="1d", redacted=False, by=owner)
    named: Mapping[str, Any] = {
        "member_id": Membership.objects.create(project=project, user=User.objects.create(username=f"user-{name}")),
        "turn_id": turn,
        "run_id": turn,
        "token_id": token,
        "conversation_id": Conversation.objects.create(project=project, agent=agent, agent_name=name, title=said),
        "comment_id": comment_add(turn=turn, transition=1, text=said, author=owner),
        "link_id": link,
        "backtest_id": Backtest.objects.create(project=project),
        "prediction_id": Prediction.objects.create(
            project=project, parent=turn, child=turn, kind="rerun", provider="openai", model=f"m-{name}",
            connection=name, certainty=Certainty.CERTAIN,
        ),
        "notice_id": Notice.objects.create(project=project, turn=turn, kind=Notice.Kind.EXPIRED, told=said),
        "webhook_id": webhook,
        "alert_id": alert_create(project=project, by=owner, name=name, metric="truncation_rate", number=20),
        "delivery_id": Delivery.objects.create(webhook=webhook, turn=turn, kind="turn.ended", body=json.dumps(said)),
        "attachment_id": policy_attach(project=project, policy=policy, provider="openai"),
        "version_id": version,
        "activation_id": PolicyActivation.objects.create(policy=policy, version=version, starts_at=now),
        "shadow_id": Shadow.objects.create(project=project, version=version, started_at=now),
        "policy_id": policy,
        "view_id": SavedView.objects.create(project=project, owner=owner, name=name, shared=True),
        "key_id": key,
        "alias_id": alias_create(project=project, name=f"other-{name}", agent=agent),
    }  # fmt: skip
    ids = {name: str(row.pk) for name, row in named.items()} | {"index": "1", "name": name}
    return World(ids, f"/share/{shared}", secret, owner, project, str(call.answer_id))


def user_of(role: str, project: Project | None = None) -> User:
    """Someone new; an admin is ticked staff too. `project`: where they have the role, and nothing but the role."""
    user = User.objects.create(username=f"someone-{User.objects.count()}", is_staff=role == Role.ADMIN)
    if project is not None and project.name != DEFAULT_PROJECT:
        Membership.objects.create(project=project, user=user, role=role if role in list(Role) else "")
    elif role in list(Role):
        user.groups.add(Group.objects.get(name=role))
    elif project is not None:
        Membership.objects.create(project=project, user=user, role="")
    return user


def browser_of(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def program_of(secret: str) -> Client:
    return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})


def token_of(user: User, project: Project | None = None) -> str:
    with working_in(project):
        return services.api_token_create("walk", user=user)[1]


def stranger(name: str, world: World) -> Caller:
    """One of those who are to be let in nowhere."""
    client, bears = Client(raise_request_exception=False), True
    match name:
        case "share link's visitor":
            client.get(world.share)
            bears = False
        case "gateway key":
            client = program_of(world.key)
        case "inactive user's token" | "revoked token":
            user = user_of(Role.ADMIN)
            client = program_of(token_of(user))
            User.objects.filter(pk=user.pk).update(is_active=name == "revoked token")
            if name == "revoked token":
                ApiToken.objects.filter(user=user).update(revoked_at=timezone.now())
        case "inactive user":
            user = user_of(Role.ADMIN)
            client, bears = browser_of(user), False
            User.objects.filter(pk=user.pk).update(is_active=False)
        case "anonymous":
            bears = False
    return Caller(name, client, bears=bears, known=False)


def member(name: str, world: World) -> Caller:
    """One who may come in: `ROLE` by a browser, `ROLE's token` by a program."""
    role, _, by = name.partition("'s ")
    user = world.owner if role == "superuser" else user_of(role, world.project)
    client = program_of(token_of(user, world.project)) if by else browser_of(user)
    if not by and world.project.name != DEFAULT_PROJECT:
        session = client.session
        session[SESSION_KEY] = str(world.project.pk)
        session.save()
    return Caller(name, client, user, bears=bool(by))


STRANGERS = (
    "anonymous", "share link's visitor", "gateway key", "inactive user", "inactive user's token", "revoked token",
)  # fmt: skip
ROLES = ("nothing", *Role, "superuser")
MEMBERS = tuple(f"{role}{by}" for role in ROLES for by in ("", "'s token"))


@dataclass(frozen=True)
class Touched:
    """Rows that were inserted, changed or deleted in each table since the transaction began, undone ones too."""

    by_table: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def now(cls) -> "Touched":
        with connection.cursor() as cursor:
            cursor.execute("SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables")
            return cls({name: count for name, count in cursor.fetchall() if count})

    def since(self, before: "Touched") -> set[str]:
        """Tables in which something was touched."""
        return {name for name, count in self.by_table.items() if count != before.by_table.get(name, 0)}
