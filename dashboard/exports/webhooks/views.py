"""Webhooks by page: who is told of what, each delivery with its tries, and what may be done about them."""

from contextlib import AbstractContextManager
from http import HTTPStatus
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.models import User
from dashboard.accounts.projects import sees_all_projects
from dashboard.accounts.roles import MAKE_WEBHOOK, may
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.selectors import project_current
from dashboard.exports.webhooks import selectors, services
from dashboard.exports.webhooks.delivery_queue import MOST_WAITING
from dashboard.exports.webhooks.forms import WebhookForm
from dashboard.exports.webhooks.models import MOST_EVENTS, Delivery, Webhook

STATES = {"": "All", "waiting": "Waiting", "delivered": "Delivered", "dead": "Given up"}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """All webhooks; a form that was sent makes one, whose secret is shown this once."""
    if request.method != "POST":
        return _index(request)
    form = WebhookForm(request.POST)
    if form.is_valid():
        try:
            by = cast("User", request.user)
            with on_behalf(by):
                webhook, secret = services.webhook_create(project=project_current(), by=by, **form.cleaned_data)
            return _index(request, made=webhook, secret=secret)
        except ValidationError as error:
            form.add(error)
    return _index(request, form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """One webhook with its deliveries; a form that was sent changes it."""
    found = _webhook(webhook_id)
    if request.method != "POST":
        return _page(request, found)
    form = WebhookForm(request.POST, instance=_webhook(webhook_id))
    if form.is_valid():
        try:
            with _by(request):
                services.webhook_change(found, **form.cleaned_data)
            messages.success(request, "Saved.")
            return redirect("webhooks:webhook", found.pk)
        except ValidationError as error:
            form.add(error)
    return _page(request, _webhook(webhook_id), form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@require_POST
def enable(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    with _by(request):
        services.webhook_enable(found := _webhook(webhook_id))
    messages.success(request, "Enabled. Deliveries that waited are sent now.")
    return redirect("webhooks:webhook", found.pk)


@require_POST
def disable(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    with _by(request):
        services.webhook_disable(found := _webhook(webhook_id))
    messages.success(request, "Disabled. No events are sent to it, and new events are not kept.")
    return redirect("webhooks:webhook", found.pk)


@never_cache
@require_POST
def new_secret(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    found = _webhook(webhook_id)
    return _page(request, found, made=found, secret=services.webhook_new_secret(found))


@require_POST
def delete(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    with _by(request):
        services.webhook_delete(found := _webhook(webhook_id))
    messages.success(request, f"The webhook “{found.name}” was deleted.")
    return redirect("webhooks:index")


@require_POST
def test(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    found = _webhook(webhook_id)
    if not found.enabled:
        messages.error(request, "The webhook is disabled; enable it first.")
        return redirect("webhooks:webhook", found.pk)
    return redirect("webhooks:delivery", services.webhook_test(found).pk)


@require_safe
def delivery(request: HttpRequest, delivery_id: UUID) -> HttpResponse:
    """What was sent, and each answer."""
    found = _delivery(delivery_id)
    return render(request, "webhooks/delivery.html", {"delivery": found, "may": _may(request)})


@require_POST
def again(request: HttpRequest, delivery_id: UUID) -> HttpResponse:
    found = _delivery(delivery_id)
    if services.delivery_again(found):
        messages.success(request, "The event is being sent again.")
    else:
        messages.error(request, "The event is already waiting to be sent.")
    return redirect("webhooks:delivery", found.pk)


def _index(request: HttpRequest, *, status: int = HTTPStatus.OK, **context: Any) -> HttpResponse:
    whole = {
        "webhooks": selectors.webhooks_of(project_current()),
        "dropped": selectors.dropped_events() if sees_all_projects(cast("User", request.user)) else None,
        "most_events": MOST_EVENTS,
        "form": WebhookForm(),
        "may": _may(request),
    }
    return render(request, "webhooks/index.html", {**whole, **context}, status=status)


def _page(request: HttpRequest, found: Webhook, *, status: int = HTTPStatus.OK, **context: Any) -> HttpResponse:
    state = request.GET.get("state", "")
    state = state if state in STATES else ""
    try:
        before = UUID(request.GET["before"]) if "before" in request.GET else None
    except ValueError:
        before = None
    whole = {
        "webhook": found,
        "deliveries": selectors.deliveries_of(found, before=before, state=state),
        "most_waiting": MOST_WAITING,
        "states": [(name, words, f"?state={name}") for name, words in STATES.items()],
        "state": state,
        "form": WebhookForm(instance=found),
        "may": _may(request),
    }
    return render(request, "webhooks/webhook.html", {**whole, **context}, status=status)


def _by(request: HttpRequest) -> AbstractContextManager[None]:
    """What changes within is said to be this user's."""
    return on_behalf(cast("User", request.user))


def _may(request: HttpRequest) -> bool:
    return may(request.user, MAKE_WEBHOOK)


def _webhook(webhook_id: UUID) -> Webhook:
    try:
        return selectors.webhook_get(webhook_id, project=project_current())
    except Webhook.DoesNotExist as error:
        raise Http404 from error


def _delivery(delivery_id: UUID) -> Delivery:
    try:
        return selectors.delivery_get(delivery_id, project=project_current())
    except Delivery.DoesNotExist as error:
        raise Http404 from error
