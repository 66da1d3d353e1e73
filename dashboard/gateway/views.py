"""`/gateway/…`: the calls of the last hour, keys, and the names callers may use."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from http import HTTPStatus
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.roles import ADMINISTER_KEYS, MAKE_ALIAS, MAKE_KEY, may
from dashboard.accounts.selectors import token_by
from dashboard.agents.models import Agent
from dashboard.agents.selectors import agent_list, connection_list, project_current
from dashboard.gateway import services
from dashboard.gateway.forms import AliasForm, KeyForm
from dashboard.gateway.models import GatewayKey
from dashboard.gateway.overview import latest_calls, overview_of
from dashboard.gateway.presenters import key_views
from dashboard.gateway.selectors import aliases_of, key_known, keys_left, keys_of, keys_seen_by
from dashboard.gateway.snippets import snippets_for
from dashboard.gateway.validation import TRACES

SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}


@require_safe
def calls(request: HttpRequest) -> HttpResponse:
    """What the gateway told its callers, and what it took of their time."""
    asked = request.GET.get("span", "")
    span = asked if asked in SPANS else "hour"
    project = project_current()
    overview = overview_of(project, since=timezone.now() - SPANS[span])
    spans = [(name, f"Last {name}", f"?span={name}") for name in SPANS]
    context = {"overview": overview, "latest": latest_calls(project), "span": span, "spans": spans}
    return render(request, "gateway/calls.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: HttpRequest) -> HttpResponse:
    """The keys one may see; a new one is shown with its secret, this once."""
    if request.method != "POST":
        return _page(request)
    form = KeyForm(request.POST)
    if form.is_valid():
        try:
            made, secret = _make(form, by=_user(request), parent=token_by(request))
        except ValidationError as error:
            form.add_error(None, error)
        else:
            return _page(request, made=made, secret=secret)
    return _page(request, key_form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@require_POST
def key_revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Close the door for one key."""
    if not key_known(key_id, _user(request), project=project_current()):
        raise Http404("There is no key with this ID here.")
    if services.key_revoke(project=project_current(), by=_user(request), key_id=key_id):
        messages.success(request, "The key was revoked; calls with it are refused within two seconds.")
    else:
        messages.error(request, "This key was already revoked.")
    return redirect("gateway:keys")


@require_POST
def keys_revoke_own(request: HttpRequest) -> HttpResponse:
    """Revoke all keys that the user created, in all projects; with a token, those of its project."""
    revoked = services.keys_revoke_own(by=_user(request), project=project_current() if token_by(request) else None)
    messages.success(request, f"Revoked {revoked} of your keys. Calls with them are refused within two seconds.")
    return redirect("gateway:keys")


@require_POST
def keys_revoke_left(request: HttpRequest) -> HttpResponse:
    """Revoke the keys of this project whose creator is no longer active, or no longer a member."""
    revoked = services.keys_revoke_left(project=project_current())
    messages.success(request, f"Revoked {revoked} of the keys. Calls with them are refused within two seconds.")
    return redirect("gateway:keys")


@require_POST
def alias_create(request: HttpRequest) -> HttpResponse:
    """Another name for an agent or a connection's model."""
    project = project_current()
    form = AliasForm(request.POST, project=project)
    if form.is_valid():
        try:
            alias = services.alias_create(
                project=project,
                name=form.cleaned_data["name"],
                model=form.cleaned_data["model"],
                **form.stands_for(),  # type: ignore[arg-type]
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"The alias “{alias.name}” was created; callers can use it as model.")
            return redirect("gateway:keys")
    return _page(request, alias_form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@require_POST
def alias_delete(request: HttpRequest, alias_id: UUID) -> HttpResponse:
    """Take a name away."""
    if not services.alias_delete(project=project_current(), alias_id=alias_id):
        raise Http404("There is no alias with this ID here. It may have been removed already.")
    messages.success(request, "The alias was removed; calls that use it are refused within two seconds.")
    return redirect("gateway:keys")


def _make(form: KeyForm, *, by: User, parent: ApiToken | None) -> tuple[GatewayKey, str]:
    lifetime = form.lifetime_given()
    return services.key_create(
        project=project_current(),
        by=by,
        name=form.cleaned_data["name"],
        mode=form.cleaned_data["mode"],
        default_connection=form.cleaned_data["default_connection"],
        scope=form.lines(),
        expires_at=timezone.now() + lifetime if lifetime else None,
        parent=parent,
        **form.limits(),
    )


def _model_of(agents: Iterable[Agent], key: GatewayKey | None) -> str:
    """Something the key may call, to try it with."""
    scope = key.scope if key is not None else []
    named = [entry for entry in scope if not entry.endswith("/*") and entry != TRACES]
    if scope:
        return named[0] if named else "connection/model"
    # One that answers in words, if there is any; of these the one that was made first.
    first = min(agents, key=lambda agent: (bool(agent.tools), agent.pk), default=None)
    return first.name if first else "connection/model"


def _page(request: HttpRequest, *, status: int = HTTPStatus.OK, **context: object) -> HttpResponse:
    project, user = project_current(), _user(request)
    sees_all = may(user, ADMINISTER_KEYS)
    agents = agent_list(project=project)  # one query for all that read it
    whole = {
        "keys": key_views(keys_seen_by(user, project=project)),
        "aliases": aliases_of(project),
        "agents": agents,
        "connections": connection_list(project=project),
        "key_form": KeyForm(),
        "alias_form": AliasForm(project=project),
        "base_url": request.build_absolute_uri("/v1"),
        "snippets": snippets_for(
            root=request.build_absolute_uri("/").rstrip("/"),
            key=cast("str", context.get("secret", "")),
            model=_model_of(agents, cast("GatewayKey | None", context.get("made"))),
        ),
        "may_make": may(user, MAKE_KEY),
        "own": (keys_of(user).filter(project=project) if token_by(request) else keys_of(user)).count(),
        "sees_all": sees_all,
        "left": list(keys_left(project)) if sees_all else [],
        "may_name": may(user, MAKE_ALIAS),
        **context,
    }
    return render(request, "gateway/keys.html", whole, status=status)


def _user(request: HttpRequest) -> User:
    return cast("User", request.user)
