"""Alerts by page: what there is, one with its firings, and what a rule would have done before it is saved."""

from http import HTTPStatus
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.models import User
from dashboard.accounts.roles import MAKE_ALERT, may
from dashboard.agents.selectors import project_current
from dashboard.board.alerts import selectors, services
from dashboard.board.alerts.forms import AlertForm
from dashboard.board.alerts.models import Alert
from dashboard.board.alerts.presenters import firing_rows, preview_rows
from dashboard.board.metrics import METRICS
from dashboard.board.selectors import DIMENSIONS, values_of
from dashboard.exports.webhooks.events import ALERT_FIRED
from dashboard.platform.form_errors import label_of

NOT_JUDGED = ("name", "emails")  #: what a preview does without


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """All alerts: which fire, and when each last did."""
    alerts = selectors.alerts_of(project_current())
    return render(request, "alerts/index.html", {"alerts": alerts, "may": _may(request)})


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """A rule to fill in; a form that was sent is previewed, and with `save` makes the alert."""
    if request.method != "POST":
        return _page(request, _form(initial=_initial(request)))
    form = _form(request.POST)
    if "save" not in request.POST:
        return _page(request, form, **_previewed(form))
    if form.is_valid():
        try:
            made = services.alert_create(project=project_current(), by=_user(request), **form.cleaned_data)
            messages.success(request, f"The alert “{made.name}” was created.")
            return redirect("alerting:alert", made.pk)
        except ValidationError as error:
            form.add(error)
    return _page(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@require_http_methods(["GET", "HEAD", "POST"])
def alert(request: HttpRequest, alert_id: UUID) -> HttpResponse:
    """One alert with its firings; a form that was sent is previewed, and with `save` changes it."""
    found = _alert(alert_id)
    if request.method != "POST":
        return _page(request, _form(instance=found), found)
    form = _form(request.POST, instance=_alert(alert_id))
    if "save" not in request.POST:
        return _page(request, form, found, **_previewed(form))
    if form.is_valid():
        try:
            services.alert_change(found, by=_user(request), **form.cleaned_data)
            messages.success(request, "Saved.")
            return redirect("alerting:alert", found.pk)
        except ValidationError as error:
            form.add(error)
    return _page(request, form, _alert(alert_id), status=HTTPStatus.UNPROCESSABLE_ENTITY)


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """What a rule would have done, as a part of the page that it is typed into."""
    form = _form(request.POST)
    found = _previewed(form)
    judged = [form[name] for name in form.fields if name not in NOT_JUDGED]
    return render(request, "alerts/_preview.html", {"label": form["number"].label, "judged": judged, **found})


@require_POST
def enable(request: HttpRequest, alert_id: UUID) -> HttpResponse:
    return _switched(request, alert_id, enabled=True)


@require_POST
def disable(request: HttpRequest, alert_id: UUID) -> HttpResponse:
    return _switched(request, alert_id, enabled=False)


@require_POST
def delete(request: HttpRequest, alert_id: UUID) -> HttpResponse:
    found = _alert(alert_id)
    services.alert_delete(found, by=_user(request))
    messages.success(request, f"The alert “{found.name}” was deleted.")
    return redirect("alerting:index")


def _switched(request: HttpRequest, alert_id: UUID, *, enabled: bool) -> HttpResponse:
    services.alert_change(found := _alert(alert_id), by=_user(request), enabled=enabled)
    messages.success(request, "Enabled." if enabled else "Disabled. It is not evaluated and sends no notices.")
    return redirect("alerting:alert", found.pk)


def _form(*given: Any, **more: Any) -> AlertForm:
    return AlertForm(*given, values=values_of(project=project_current()), **more)


def _initial(request: HttpRequest) -> dict[str, str]:
    """What the board was narrowed to, and the metric of one of its charts."""
    asked = {name: request.GET.get(name, "") for name in ("metric", *DIMENSIONS)}
    given = {name: value for name, value in asked.items() if value and (name != "metric" or value in METRICS)}
    return {"metric": "truncation_rate", **given}


def _previewed(form: AlertForm) -> dict[str, Any]:
    """Of a form that says enough to be judged; its name need not be there yet."""
    form.full_clean()
    faulty = [label_of(form, name) for name in form.fields if name in form.errors and name not in NOT_JUDGED]
    if faulty:
        return {"faulty": faulty}
    judged = {name: value for name, value in form.cleaned_data.items() if name not in NOT_JUDGED}
    found = selectors.preview_of(Alert(project=project_current(), **judged))
    return {"preview": found, "preview_rows": preview_rows(found)}


def _page(
    request: HttpRequest, form: AlertForm, found: Alert | None = None, *, status: int = HTTPStatus.OK, **context: Any
) -> HttpResponse:
    whole = {
        "form": form,
        "alert": found,
        "firings": firing_rows(selectors.firings_of(found)) if found else [],
        "mails": selectors.mails_failed(found) if found else [],
        "webhooks": selectors.webhooks_told(project_current(), ALERT_FIRED),
        "email_is_set_up": settings.EMAIL_IS_SET_UP,
        "may": _may(request),
    }
    return render(request, "alerts/alert.html", {**whole, **context}, status=status)


def _may(request: HttpRequest) -> bool:
    return may(request.user, MAKE_ALERT)


def _user(request: HttpRequest) -> User:
    return cast("User", request.user)


def _alert(alert_id: UUID) -> Alert:
    try:
        return selectors.alert_get(alert_id, project=project_current())
    except Alert.DoesNotExist as error:
        raise Http404(f"There is no alert {alert_id}.") from error
