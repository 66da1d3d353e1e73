"""Who may do what: the one table of roles, actions and addresses.

watcher    sees everything, takes turns away as files, acts on nothing; so does who is given no role
operator   talks to agents, controls and replays turns, comments, tags, shares, keeps; makes keys of the gateway
           and alerts
admin      also erases turns, sees all keys, and makes connections, policies, agents and users (users in Django's admin,
           for which a user is ticked *staff* as well)

A role is given to a member of a project (`models.Membership`), and counts there; a superuser may do everything, in
every project. What a role may is a group of Django of its name (migration 0002); in the project `default` the user's
groups are the role. A token may do what its user may, in its project. `middleware.AccessMiddleware` keeps the table
before any view is asked, so an address that is missing from it is closed to who watches, not open.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

#: Of the model Turn: what may be done to turns, and the words for it.
TURN_PERMISSIONS = (
    ("start_turn", "Start a turn, talk to an agent"),
    ("control_turn", "Hold, release, step, change or cancel a turn"),
    ("replay_turn", "Re-run turns and backtest policies"),
    ("tag_turn", "Tag turns"),
    ("comment_turn", "Comment on a turn"),
    ("share_turn", "Share a turn by a link"),
    ("export_turn", "Export turns as files"),
    ("import_turn", "Import turns from files"),
    ("keep_view", "Save timeline views"),
)


class Role(StrEnum):
    """The names of the groups."""

    WATCHER = "watcher"
    OPERATOR = "operator"
    ADMIN = "admin"


WATCHING = ("turns.export_turn",)
OPERATING = tuple(f"turns.{codename}" for codename, _ in TURN_PERMISSIONS)
#: Apps whose tables an admin may look at and change beside what an operator may.
ADMINISTERED = (
    "accounts",
    "agents",
    "tools",
    "sharing",
    "commenting",
    "policies",
    "gateway",
    "webhooks",
    "telemetry",
    "alerting",
)

START, CONTROL, REPLAY, TAG, COMMENT, SHARE, EXPORT, IMPORT, KEEP = OPERATING
ERASE = "turns.delete_turn"  #: Django's own
MAKE_POLICY = "agents.add_policy"
CHANGE_POLICY = "agents.change_policy"
MAKE_AGENT = "agents.add_agent"
CHANGE_AGENT = "agents.change_agent"
MAKE_CONNECTION = "agents.add_connection"
CHANGE_CONNECTION = "agents.change_connection"
MAKE_KEY = "gateway.add_gatewaykey"
MAKE_PROJECT = "accounts.add_project"  #: nobody has it but superusers, who may do everything
CHANGE_MEMBERS = "accounts.change_membership"
READ_AUDIT = "accounts.view_user"  #: what admins may see of accounts
ADMINISTER_KEYS = "gateway.change_gatewaykey"  #: of others too
MAKE_ALIAS = "gateway.add_alias"
REMOVE_ALIAS = "gateway.delete_alias"
MAKE_WEBHOOK = "webhooks.add_webhook"
MAKE_ALERT = "alerting.add_alert"
#: The words for every permission that this module names.
PERMISSION_WORDS: Mapping[str, str] = {
    **{f"turns.{codename}": words for codename, words in TURN_PERMISSIONS},
    ERASE: "Delete turns",
    MAKE_POLICY: "Create policies",
    CHANGE_POLICY: "Change and activate policies",
    MAKE_AGENT: "Create agents",
    CHANGE_AGENT: "Change agents",
    MAKE_CONNECTION: "Create connections",
    CHANGE_CONNECTION: "Change connections",
    MAKE_KEY: "Create gateway keys, and revoke your own",
    MAKE_PROJECT: "Create and rename projects",
    CHANGE_MEMBERS: "Change the members of a project",
    READ_AUDIT: "Read the audit log",
    ADMINISTER_KEYS: "Revoke all gateway keys",
    MAKE_ALIAS: "Create and change gateway aliases",
    REMOVE_ALIAS: "Delete gateway aliases",
    MAKE_WEBHOOK: "Create, change and delete webhooks",
    MAKE_ALERT: "Create, change and delete alerts",
}

#: What changes something, by the address's route: the permission it needs; None: everyone who may come in.
ACTIONS: Mapping[str, str | None] = {
    "sign-in": None,
    "sign-out": None,
    "account/password": None,
    "sign-in/code": None,
    "sign-in/oidc": None,
    "sign-in/oidc/return": None,
    "account/two-factor": None,
    "account/two-factor/begin": None,
    "account/two-factor/codes": None,
    "account/two-factor/remove": None,
    "account/tokens": None,
    "account/tokens/<int:token_id>/revoke": None,
    "projects": MAKE_PROJECT,
    "projects/switch": None,
    "projects/rename": MAKE_PROJECT,
    "projects/members/add": CHANGE_MEMBERS,
    "projects/members/<int:member_id>": CHANGE_MEMBERS,
    "projects/members/<int:member_id>/remove": CHANGE_MEMBERS,
    "agents/+new": MAKE_AGENT,
    "agents/<str:name>": CHANGE_AGENT,
    "agents/<str:name>/live": START,
    "connections/+new": MAKE_CONNECTION,
    "connections/<str:name>": CHANGE_CONNECTION,
    "conversations/<uuid:conversation_id>/budget": START,
    "turns/<uuid:turn_id>/control": CONTROL,
    "turns/<uuid:turn_id>/cancel": CONTROL,
    "turns/<uuid:turn_id>/replay/rerun": REPLAY,
    "turns/<uuid:turn_id>/replay/go-on": REPLAY,
    "turns/<uuid:turn_id>/replay/again": REPLAY,
    "turns/<uuid:turn_id>/replay/policy": CHANGE_POLICY,
    "turns/<uuid:turn_id>/replay/verify": None,
    "turns/<uuid:turn_id>/limit/find": REPLAY,
    "turns/<uuid:turn_id>/limit/use": CHANGE_POLICY,
    "turns/<uuid:turn_id>/comments": COMMENT,
    "turns/<uuid:turn_id>/comments/<uuid:comment_id>/edit": COMMENT,
    "turns/<uuid:turn_id>/comments/<uuid:comment_id>/delete": COMMENT,
    "turns/<uuid:turn_id>/share": SHARE,
    "turns/<uuid:turn_id>/share/<int:link_id>/revoke": SHARE,
    "turns/<uuid:turn_id>/tags": TAG,
    "inbox/<uuid:notice_id>/seen": CONTROL,
    "tour/load": START,
    "tour/remove": ERASE,
    "tour/key": MAKE_KEY,
    "import": IMPORT,
    "export": EXPORT,
    "timeline/tag": TAG,
    "timeline/erase": ERASE,
    "backtests/new": REPLAY,
    "backtests/draft": REPLAY,
    "backtests/<uuid:backtest_id>/cancel": REPLAY,
    "backtests/<uuid:backtest_id>/live": REPLAY,
    "policies/shadows/<uuid:shadow_id>/live": REPLAY,
    "backtests/limits/keep": CHANGE_POLICY,
    "backtests/track-record/<uuid:prediction_id>/check": REPLAY,
    "policies/new": MAKE_POLICY,
    "policies/<uuid:policy_id>/change": CHANGE_POLICY,
    "policies/import": CHANGE_POLICY,
    "policies/attach": CHANGE_POLICY,
    "policies/attachments/<uuid:attachment_id>/detach": CHANGE_POLICY,
    "policies/versions/<uuid:version_id>/activate": CHANGE_POLICY,
    "policies/versions/<uuid:version_id>/shadow": CHANGE_POLICY,
    "policies/activations/<uuid:activation_id>/withdraw": CHANGE_POLICY,
    "policies/shadows/<uuid:shadow_id>/stop": CHANGE_POLICY,
    "policies/shadows/<uuid:shadow_id>/promote": CHANGE_POLICY,
    "gateway/keys": MAKE_KEY,
    "gateway/keys/revoke": MAKE_KEY,  # all of one's own
    "gateway/keys/revoke-left": ADMINISTER_KEYS,
    "gateway/keys/<uuid:key_id>/revoke": MAKE_KEY,  # one's own; who administers keys may revoke any
    "gateway/aliases": MAKE_ALIAS,
    "gateway/aliases/<uuid:alias_id>/delete": REMOVE_ALIAS,
    **{
        f"webhooks/{address}".rstrip("/"): MAKE_WEBHOOK
        for address in (
            "",
            "<uuid:webhook_id>",
            "<uuid:webhook_id>/enable",
            "<uuid:webhook_id>/disable",
            "<uuid:webhook_id>/secret",
            "<uuid:webhook_id>/delete",
            "<uuid:webhook_id>/test",
            "deliveries/<uuid:delivery_id>/again",
        )
    },
    **{
        f"metrics-board/alerts/{address}": MAKE_ALERT
        for address in (
            "new",
            "preview",
            "<uuid:alert_id>",
            "<uuid:alert_id>/enable",
            "<uuid:alert_id>/disable",
            "<uuid:alert_id>/delete",
        )
    },
    "api/v1/alerts": MAKE_ALERT,
    "api/v1/alerts/preview": MAKE_ALERT,
    "api/v1/alerts/<alert_id>": MAKE_ALERT,
    "timeline/views": KEEP,
    "timeline/views/<uuid:view_id>/rename": KEEP,
    "timeline/views/<uuid:view_id>/delete": KEEP,
    "timeline/views/<uuid:view_id>/opens": KEEP,
    "api/v1/connections": MAKE_CONNECTION,
    "api/v1/policies": MAKE_POLICY,
    "api/v1/policies/<name>/activations": CHANGE_POLICY,
    "api/v1/tokens": None,
    "api/v1/tokens/<token_id>/revoke": None,
    "api/v1/agents": MAKE_AGENT,
    "api/v1/keys": MAKE_KEY,
    "api/v1/keys/<key_id>/revoke": MAKE_KEY,
    "api/v1/conversations": START,
    "api/v1/conversations/<conversation_id>": START,
    "api/v1/turns": START,
    "api/v1/turns/<turn_id>/cancel": CONTROL,
    "api/v1/turns/<turn_id>/control": CONTROL,
    "api/v1/turns/<turn_id>/replay": None,  # a re-run asks for REPLAY itself, the other modes only read
    "api/v1/turns/<turn_id>/comments": COMMENT,
    "api/v1/turns/import": IMPORT,
    "api/v1/logs/import": IMPORT,
    "api/v1/backtests": REPLAY,
    "api/v1/backtests/<backtest_id>/cancel": REPLAY,
    "api/v1/simulator/scripts": START,
}
#: Reading that needs a right: turns leave as a file; who did what is for admins.
READING: Mapping[str, str] = {
    "api/v1/turns/<turn_id>/export": EXPORT,
    "api/v1/turns/export": EXPORT,
    "export": EXPORT,
    "timeline/export": EXPORT,
    "audit": READ_AUDIT,
    "api/v1/audit": READ_AUDIT,
    "audit/file": READ_AUDIT,
}
#: Addresses below these keep their own rules: Django's admin asks for its models' permissions.
ELSEWHERE = ("admin/",)
#: Addresses that show or change what belongs to all projects: once there are several, they are for superusers.
OF_ALL_PROJECTS = ("admin/", "metrics/", "api/v1/simulator/")
#: What sends turns elsewhere.
_OUTGOING = ("webhooks/", "admin/telemetry/")
#: Accounts and what sends turns elsewhere are managed by who has signed in, not by a program with a token.
OF_ACCOUNTS = ("account/", "projects/", "admin/accounts/", "admin/auth/", "admin/password_change/", *_OUTGOING)
NO_TOKEN = (
    "Accounts, projects, tokens, webhooks and telemetry cannot be managed with an API token. Sign in with a browser."  # noqa: S105
)
#: Of these, what would outlive a token that is revoked: it needs more than a session that was opened with one.
OUTLIVING = ("account/two-factor/", "projects/", "admin/accounts/", "admin/auth/", "admin/password_change/", *_OUTGOING)
NO_TOKEN_SESSION = (
    "You are signed in with an API token, and a change to an account, a project or a webhook would outlive it. Sign "  # noqa: S105
    "out, and sign in with a password or with the link that “manage.py sign_in_link” prints."
)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
WATCH = "Read-only access"


def needed(method: str | None, route: str) -> str | None:
    """The permission a request needs; None where anyone who may come in may do it."""
    named = route.rstrip("/")
    if method in SAFE_METHODS:
        return READING.get(named)
    if route.startswith(ELSEWHERE):
        return None
    return ACTIONS.get(named, START)


def needs_session(method: str | None, route: str) -> bool:
    """Whether a bearer token may not do this, whatever its user may."""
    return method not in SAFE_METHODS and route.startswith(OF_ACCOUNTS)


def outlives(method: str | None, route: str) -> bool:
    """Whether this would outlive the token of who asks, in its own session too."""
    return method not in SAFE_METHODS and route.startswith(OUTLIVING)


def shows_all_projects(route: str) -> bool:
    """Whether what is here belongs to no single project."""
    return f"{route.rstrip('/')}/".startswith(OF_ALL_PROJECTS)


def may(user: Any, permission: str | None) -> bool:
    """Whether a user, or the one a token belongs to, may do it."""
    return permission is None or bool(user.has_perm(permission))


def refusal(permission: str, *, of: str = "this") -> str:
    """What someone is told who may not. `of`: what they may not do, in the middle of a sentence."""
    what = PERMISSION_WORDS.get(permission) or permission.partition(".")[2].replace("_", " ")
    who = "an operator" if permission in (*OPERATING, MAKE_KEY, MAKE_ALERT) else "an admin"
    who = "a superuser" if permission == MAKE_PROJECT else who
    return f"{WATCH}: {of} needs the permission “{what}”; ask {who}."
