"""What may be done to policies, by whoever has the right to change them; each act is kept with who and why."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial, wraps
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentcore.quoting import quoted
from dashboard.accounts.models import User
from dashboard.agents import selectors as agents
from dashboard.agents.change_tracking import MAX_WHY
from dashboard.agents.models import PolicyActivation
from dashboard.platform.fields import storable_text
from dashboard.policies import policy_versions, selectors, services
from dashboard.policies.policy_file import MAX_FILE, policies_export, policies_import
from dashboard.policies.policy_impact import activation_warnings, place_warnings

CHANGE = "agents.change_policy"
MOMENT = "%Y-%m-%dT%H:%M"
ATTACH_FIELDS = ("policy", "level", "provider", "connection", "model", "why")  #: kept in the form after a fault
MODELS_PLACE, PROVIDER_PLACE, SITE_PLACE = "model", "provider", "site"


def changing(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A POST by someone with the right; what is not there is 404, what is wrong is said in words on the page before."""

    @require_POST
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.has_perm(CHANGE):
            raise PermissionDenied
        try:
            return view(request, *args, **kwargs)
        except ObjectDoesNotExist as error:
            raise Http404("It no longer exists.") from error

    return guarded


def _done(
    request: HttpRequest,
    act: Callable[[], object],
    words: str = "",
    *,
    warned: Callable[[], Iterable[str]] = tuple,
) -> bool:
    """Do it, and say so: in these words, or in those that `act` gives back; then what is to be `warned` of.

    Gives whether it was done.
    """
    try:
        found = act()
    except ValidationError as error:
        for sentence in error.messages:
            messages.error(request, sentence)
        return False
    messages.success(request, words or str(found))
    for sentence in warned():
        messages.warning(request, sentence)
    return True


def _by(request: HttpRequest) -> User:
    return cast("User", request.user)


def _why(request: HttpRequest) -> str:
    return request.POST.get("why", "")


@changing
def activate(request: HttpRequest, version_id: UUID) -> HttpResponse:
    """Have a version count: now, or from `starts_at` (UTC)."""
    version = agents.policy_version_by_id(version_id, project=agents.project_current())
    asked = request.POST.get("starts_at", "")

    def act() -> str:
        starts_at = _moment(asked) if asked else None
        about: dict[str, Any] = {"starts_at": starts_at, "standing": request.POST.get("standing")}
        policy_versions.version_activate(version=version, by=_by(request), why=_said_why(request), **about)
        return f"{version} {f'becomes active at {starts_at:{MOMENT}} UTC' if starts_at else 'is now active'}."

    if _done(request, act, warned=lambda: activation_warnings(version)):
        return redirect("policies:show", version.policy_id)
    return _typed_again(request, version.policy_id, version.pk, f"v{version.version}")


def _typed_again(request: HttpRequest, policy_id: UUID, about: UUID, anchor: str) -> HttpResponse:
    """The policy's page, with what was typed into the form of this version or shadow."""
    typed = {name: storable_text(request.POST.get(name, ""))[:MAX_WHY] for name in ("why", "starts_at")}
    return redirect(f"{reverse('policies:show', args=[policy_id])}?{urlencode({'about': about, **typed})}#{anchor}")


def _said_why(request: HttpRequest) -> str:
    if not _why(request).strip():
        raise ValidationError("Enter a reason. It is kept in the history.")
    return _why(request)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValidationError(f"{quoted(text)} is not a time such as 2026-01-31T12:00.") from error
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValidationError(f"{quoted(text)} is too far in the past or future.") from error


@changing
def withdraw(request: HttpRequest, activation_id: UUID) -> HttpResponse:
    """Take back a schedule that has not started."""
    activation = agents.activation_get(activation_id, project=agents.project_current())
    act = partial(policy_versions.activation_withdraw, activation=activation, by=_by(request))
    _done(request, act, f"{activation.version} is no longer scheduled.")
    return redirect("policies:show", activation.policy_id)


@changing
def attach(request: HttpRequest) -> HttpResponse:
    """Have a policy count for a connection's model, a provider or the site."""
    project = agents.project_current()
    said = {name: storable_text(str(value)) for name, value in request.POST.items()}
    policy = _named(agents.policy_get, said.get("policy", ""))

    def act() -> None:
        if policy is None:
            raise ValidationError(f"There is no policy {quoted(said.get('policy', ''))} any more. Choose another one.")
        place: dict[str, Any] = {}
        if said.get("level") == MODELS_PLACE:
            connection = _named(agents.connection_get, said.get("connection", ""))
            if connection is None:
                raise ValidationError(
                    f"There is no connection {quoted(said.get('connection', ''))}. Choose another one."
                )
            place = {"connection": connection, "model": said.get("model", "")}
        elif said.get("level") == PROVIDER_PLACE:
            if not said.get("provider"):
                raise ValidationError("Name the provider, such as openai.")
            place = {"provider": said["provider"]}
        elif said.get("level") != SITE_PLACE:
            raise ValidationError("Choose what it applies to: a connection's model, a provider, or the site.")
        policy_versions.policy_attach(project=project, policy=policy, by=_by(request), why=_why(request), **place)

    words = f"“{policy.name if policy else ''}” applies to {_place_in_words(said)} from the next turn on."
    if _done(request, act, words, warned=lambda: place_warnings(policy) if policy else ()):
        return redirect("policies:index")
    kept = {name: said.get(name, "")[:MAX_WHY] for name in ATTACH_FIELDS}
    return redirect(f"{reverse('policies:index')}?{urlencode(kept)}#attach")


def _place_in_words(said: Mapping[str, str]) -> str:
    """What a policy was attached to, as a part of a sentence."""
    if said.get("level") == SITE_PLACE:
        return "the whole site"
    if said.get("level") == PROVIDER_PLACE:
        return f"the provider {said.get('provider', '')}"
    return f"the model {said.get('model', '')} of the connection {said.get('connection', '')}"


def _named(get: Callable[..., Any], name: str) -> Any:
    """The policy or connection of this name; None where somebody has deleted it."""
    try:
        return get(project=agents.project_current(), name=name)
    except ObjectDoesNotExist:
        return None


@changing
def detach(request: HttpRequest, attachment_id: UUID) -> HttpResponse:
    """Have a policy count there no more."""
    attachment = agents.attachment_get(attachment_id, project=agents.project_current())
    act = partial(policy_versions.policy_detach, attachment=attachment, by=_by(request), why=_why(request))
    _done(request, act, f"“{attachment.policy}” no longer applies to {attachment.place}.")
    return redirect("policies:index")


@changing
def shadow(request: HttpRequest, version_id: UUID) -> HttpResponse:
    """Judge a draft beside what counts, from now on."""
    version = agents.policy_version_by_id(version_id, project=agents.project_current())
    act = partial(services.shadow_start, version=version, by=_by(request), why=_why(request))
    words = f"{version} now runs in shadow mode; turns are not affected."
    _done(request, act, words, warned=lambda: selectors.warnings_for(version.policy))
    return _to_shadow(version.policy_id)


@changing
def shadow_stop(request: HttpRequest, shadow_id: UUID) -> HttpResponse:
    """End a shadow; what it counted stays."""
    found = selectors.shadow_get(shadow_id, project=agents.project_current())
    act = partial(services.shadow_stop, shadow=found, by=_by(request))
    _done(request, act, "The shadow run has ended; its results are kept.")
    return _to_shadow(found.version.policy_id)


@changing
def promote(request: HttpRequest, shadow_id: UUID) -> HttpResponse:
    """Have the shadowed draft count, with its tally attached."""
    found = selectors.shadow_get(shadow_id, project=agents.project_current())

    def act() -> PolicyActivation:
        standing = request.POST.get("standing")
        return services.shadow_promote(shadow=found, by=_by(request), why=_said_why(request), standing=standing)

    words = f"{found.version} is now active; the results of the shadow run are kept with it."
    if _done(request, act, words, warned=lambda: activation_warnings(found.version)):
        return redirect("policies:show", found.version.policy_id)
    return _typed_again(request, found.version.policy_id, found.pk, f"shadow-{found.pk}")


def _to_shadow(policy_id: UUID) -> HttpResponseRedirect:
    response = redirect("policies:show", policy_id)
    response["Location"] += "#shadow"
    return response


@require_safe
def export(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - every view is given its request
    """Every policy with its versions and attachments, as one file."""
    response = JsonResponse(
        policies_export(agents.project_current()), json_dumps_params={"indent": 2, "ensure_ascii": False}
    )
    response["Content-Disposition"] = 'attachment; filename="whystop-policies.json"'
    return response


@changing
def take_in(request: HttpRequest) -> HttpResponse:
    """Take in such a file: new policies, next versions of those that differ, attachments."""
    given = request.FILES.get("file")

    def act() -> None:
        if given is None or given.size is None or given.size > MAX_FILE:
            raise ValidationError(f"Choose a policy file (JSON, at most {MAX_FILE // 1_000_000} MB).")
        for sentence in policies_import(given.read(), project=agents.project_current(), by=_by(request)):
            messages.info(request, sentence)

    _done(request, act, "The file was imported.")
    return redirect("policies:index")
