"""404 before 403: who may read an address, but not change what is there, is told first that nothing is there.

A row of another project is missing like any other: the answer does not tell whether it exists.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import Model
from django.http import Http404, HttpRequest
from django.utils.deprecation import MiddlewareMixin

from dashboard.accounts import roles, scopes
from dashboard.accounts.access import AccessForm, access_form_of
from dashboard.accounts.models import Membership
from dashboard.agents.models import (
    Agent,
    Connection,
    Policy,
    PolicyActivation,
    PolicyAttachment,
    PolicyVersion,
    Project,
)
from dashboard.agents.selectors import project_current
from dashboard.board.alerts.models import Alert
from dashboard.exports.share_links.models import ShareLink
from dashboard.exports.webhooks.models import Delivery, Webhook
from dashboard.gateway.models import Alias
from dashboard.inbox.models import Notice
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.models import Shadow
from dashboard.policies.predictions.models import Prediction
from dashboard.turns.comments.models import Comment
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Turn

#: What an address names, by its parameter: the model, and the way from it to the project. Keys of the gateway, saved
#: views and tokens are not here: not everyone who reads the page sees each of them.
BY_ID: Mapping[str, tuple[type[Model], str]] = {
    "turn_id": (Turn, "project"),
    "comment_id": (Comment, "turn__project"),
    "link_id": (ShareLink, "turn__project"),
    "conversation_id": (Conversation, "project"),
    "notice_id": (Notice, "project"),
    "member_id": (Membership, "project"),
    "policy_id": (Policy, "project"),
    "version_id": (PolicyVersion, "policy__project"),
    "activation_id": (PolicyActivation, "policy__project"),
    "attachment_id": (PolicyAttachment, "project"),
    "shadow_id": (Shadow, "project"),
    "backtest_id": (Backtest, "project"),
    "prediction_id": (Prediction, "project"),
    "alert_id": (Alert, "project"),
    "webhook_id": (Webhook, "project"),
    "delivery_id": (Delivery, "webhook__project"),
    "alias_id": (Alias, "project"),
}
#: What an address names by `name`, by the beginning of its route.
BY_NAME: Mapping[str, type[Model]] = {
    "agents/": Agent,
    "connections/": Connection,
    "api/v1/policies/": Policy,
}


class MissingRowMiddleware(MiddlewareMixin):
    """Stands before the one that refuses what is not permitted."""

    def process_view(self, request: HttpRequest, _view: Callable[..., Any], _args: Any, given: dict[str, Any]) -> None:
        """Raises Http404. Whoever is permitted to act is told by the view itself."""
        if request.method in roles.SAFE_METHODS or request.resolver_match is None or not given:
            return
        if access_form_of(request.path_info) not in {AccessForm.PAGE, AccessForm.PROBLEM}:
            return
        route = request.resolver_match.route
        permission = roles.needed(request.method, route)
        if permission is None or roles.may(request.user, permission) or not _may_read(request, route):
            return
        if not all(_is_there(route, name, value) for name, value in given.items()):
            raise Http404("There is nothing at this address.")


def _may_read(request: HttpRequest, route: str) -> bool:
    scope = scopes.scope_needed("GET", route)
    readable = roles.may(request.user, roles.needed("GET", route))
    return readable and not (scope is not None and scopes.lacks(request.user, scope))


def _is_there(route: str, parameter: str, value: Any) -> bool:
    project: Project = project_current()
    if parameter == "name":
        model = next((model for begins, model in BY_NAME.items() if route.startswith(begins)), None)
        return model is None or model._default_manager.filter(project=project, name=value).exists()
    if parameter not in BY_ID:
        return True
    model, way = BY_ID[parameter]
    try:
        return model._default_manager.filter(**{"pk": value, way: project}).exists()
    except (ValueError, TypeError):  # an id that is none
        return False
