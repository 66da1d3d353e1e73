"""What each entry of the audit log says in words: the table of the routes that are recorded.

Pages and the API have the same words: `api/v1/turns/<turn_id>/cancel` is `turns/<uuid:turn_id>/cancel` here.
"""

import re
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from django.apps import apps

#: By route, without `api/v1/`, and with `<>` for what it names. Where methods differ: `METHOD route`.
ACTION_WORDS: Mapping[str, str] = {
    "account/password": "Change one's password",
    "account/two-factor": "Turn two-factor sign-in on",
    "account/two-factor/begin": "Begin to set up two-factor sign-in",
    "account/two-factor/codes": "Create new recovery codes",
    "account/two-factor/remove": "Turn two-factor sign-in off",
    "account/tokens": "Create an API token",
    "account/tokens/<>/revoke": "Revoke an API token",
    "agents": "Create an agent",
    "agents/+new": "Create an agent",
    "agents/<>": "Change an agent",
    "agents/<>/live": "Send a prompt to an agent",
    "alerts": "Create an alert",
    "PATCH alerts/<>": "Change an alert",
    "DELETE alerts/<>": "Delete an alert",
    "alerts/preview": "Preview an alert",
    "backtests": "Start a backtest",
    "backtests/<>/cancel": "Cancel a backtest",
    "backtests/<>/live": "Try turns of a backtest live",
    "backtests/draft": "Backtest a draft policy",
    "backtests/limits/keep": "Save a limit as a draft",
    "backtests/new": "Start a backtest",
    "backtests/track-record/<>/check": "Check a prediction by a live re-run",
    "connections": "Create a connection",
    "connections/+new": "Create a connection",
    "connections/<>": "Change a connection",
    "conversations": "Start a conversation",
    "PATCH conversations/<>": "Change a conversation",
    "conversations/<>/budget": "Set the budget of a conversation",
    "export": "Export turns",
    "gateway/aliases": "Create or change a gateway alias",
    "gateway/aliases/<>/delete": "Delete a gateway alias",
    "gateway/keys": "Create a gateway key",
    "gateway/keys/<>/revoke": "Revoke a gateway key",
    "gateway/keys/revoke": "Revoke all one's own gateway keys",
    "gateway/keys/revoke-left": "Revoke gateway keys of people who have left",
    "import": "Import a file",
    "inbox/<>/seen": "Mark an inbox entry as seen",
    "keys": "Create a gateway key",
    "keys/<>/revoke": "Revoke a gateway key",
    "logs/import": "Import a log",
    "metrics-board/alerts/<>": "Change an alert",
    "metrics-board/alerts/<>/delete": "Delete an alert",
    "metrics-board/alerts/<>/disable": "Disable an alert",
    "metrics-board/alerts/<>/enable": "Enable an alert",
    "metrics-board/alerts/new": "Create an alert",
    "metrics-board/alerts/preview": "Preview an alert",
    "policies": "Create a policy or a version of it",
    "policies/<>/activations": "Activate a policy version",
    "policies/<>/change": "Save a draft of a policy",
    "policies/activations/<>/withdraw": "Withdraw a planned activation",
    "policies/attach": "Attach a policy",
    "policies/attachments/<>/detach": "Detach a policy",
    "policies/import": "Import policies",
    "policies/new": "Create a policy",
    "policies/shadows/<>/live": "Try turns of a shadow run live",
    "policies/shadows/<>/promote": "Activate the version of a shadow run",
    "policies/shadows/<>/stop": "Stop a shadow run",
    "policies/versions/<>/activate": "Activate a policy version",
    "policies/versions/<>/shadow": "Start a shadow run",
    "projects": "Create a project",
    "projects/members/<>": "Change the role of a member",
    "projects/members/<>/remove": "Remove a member from the project",
    "projects/members/add": "Add a member to the project",
    "projects/rename": "Rename the project",
    "projects/switch": "Switch to another project",
    "sign-in": "Sign in",
    "sign-in/code": "Sign in: second step",
    "sign-in/oidc": "Sign in with the identity provider",
    "sign-in/oidc/return": "Sign in with the identity provider",
    "sign-out": "Sign out",
    "simulator/scripts": "Save a script of the simulator",
    "DELETE simulator/scripts/<>": "Delete a script of the simulator",
    "timeline/erase": "Erase turns",
    "timeline/export": "Export turns",
    "timeline/tag": "Tag turns",
    "timeline/views": "Save a timeline view",
    "timeline/views/<>/delete": "Delete a timeline view",
    "timeline/views/<>/opens": "Choose the view that the timeline opens with",
    "timeline/views/<>/rename": "Rename a timeline view",
    "tokens": "Create an API token",
    "tokens/<>/revoke": "Revoke an API token",
    "tour/key": "Create a gateway key",
    "tour/load": "Load the tour",
    "tour/remove": "Remove the tour",
    "turns": "Start a turn",
    "turns/<>/cancel": "Cancel a turn",
    "turns/<>/comments": "Comment on a turn",
    "turns/<>/comments/<>/delete": "Delete a comment",
    "turns/<>/comments/<>/edit": "Edit a comment",
    "turns/<>/control": "Hold, release or change a turn",
    "turns/<>/export": "Export a turn",
    "turns/<>/limit/find": "Find the limit of a turn",
    "turns/<>/limit/use": "Use a limit that was found",
    "turns/<>/replay": "Replay or re-run a turn",
    "turns/<>/replay/again": "Re-run a turn live",
    "turns/<>/replay/go-on": "Continue a turn live",
    "turns/<>/replay/policy": "Save what was tried in a replay as a draft",
    "turns/<>/replay/rerun": "Re-run a turn live",
    "turns/<>/replay/verify": "Verify the replay of a turn",
    "turns/<>/share": "Share a turn by a link",
    "turns/<>/share/<>/revoke": "Revoke a share link",
    "turns/<>/tags": "Tag a turn",
    "turns/export": "Export turns",
    "turns/import": "Import turns",
    "webhooks": "Create a webhook",
    "webhooks/<>": "Change a webhook",
    "webhooks/<>/delete": "Delete a webhook",
    "webhooks/<>/disable": "Disable a webhook",
    "webhooks/<>/enable": "Enable a webhook",
    "webhooks/<>/secret": "Create a new webhook secret",
    "webhooks/<>/test": "Send a test event",
    "webhooks/deliveries/<>/again": "Send a delivery again",
}
#: Of one route with several actions, by the `action` that its entry's target ends with.
CONTROL_WORDS: Mapping[str, str] = {
    "approve": "Approve tool calls",
    "refuse": "Refuse tool calls",
    "hold": "Hold a turn",
    "release": "Release a held turn",
    "step": "Step a held turn",
    "change": "Change a running turn",
}
CONTROL = "turns/<>/control"
#: In Django's admin, by the end of the address.
_IN_ADMIN = {"add": "Create", "change": "Change", "delete": "Delete"}
_ADMIN_PAGE = re.compile(r"admin/(\w+)/(\w+)(?:/.*?(\w+))?/?")
_NAMED = re.compile(r"<[^>]*>")
CHANGES = {"made": "created", "changed": "changed", "deleted": "deleted"}  #: what a page calls `Changed.how`


def action_words(method: str, action: str, target: str = "") -> str:
    """An entry's action, such as *Cancel a turn*. A command (no method) and a route of a later version: empty."""
    route = _NAMED.sub("<>", action.removeprefix("api/v1/").rstrip("/"))
    if not method:
        return "Run a command"
    if route.startswith("admin/"):
        return _admin_words(route)
    if route == CONTROL and (done := parse_qs(urlsplit(target).query).get("action")):
        return CONTROL_WORDS.get(done[0], ACTION_WORDS[CONTROL])
    return ACTION_WORDS.get(f"{method} {route}") or ACTION_WORDS.get(route, "")


def _admin_words(route: str) -> str:
    found = _ADMIN_PAGE.fullmatch(route)
    try:
        name = apps.get_model(found[1], found[2])._meta.verbose_name if found else ""
    except LookupError:
        name = ""
    if not (found and name):
        return "Use the admin"
    return f"{_IN_ADMIN.get(found[3] or '', 'Act on')} “{name}” in the admin"


def object_words(table: str) -> str:
    """What a table of changes keeps the changes of: `membership` of `accounts_membershipchange`."""
    models = {model._meta.db_table: model for model in apps.get_models() if hasattr(model, "pgh_tracked_model")}
    return str(models[table].pgh_tracked_model._meta.verbose_name) if table in models else ""
