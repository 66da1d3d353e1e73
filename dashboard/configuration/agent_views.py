"""Agents and connections by page: listed, looked at, created and changed, by the admin's own forms."""

from http import HTTPStatus
from typing import Any, TypeVar, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.accounts.models import User
from dashboard.accounts.roles import CHANGE_AGENT, CHANGE_CONNECTION, CHANGE_POLICY, MAKE_AGENT, MAKE_CONNECTION, may
from dashboard.agents import selectors
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.forms import TEST, AgentForm, ConnectionForm
from dashboard.agents.named_models import Named
from dashboard.agents.probes import Finding
from dashboard.agents.services import valid_save
from dashboard.configuration import agent_summaries
from dashboard.live.probe_service import connection_probe
from dashboard.platform.egress.keys import state_in_words

Form = AgentForm | ConnectionForm
Row = TypeVar("Row", bound=Named)
MAX_DIGITS = 19  #: of the id of a change


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Every agent with what it shows, its policies in force, and its turns of the last days."""
    now, project = timezone.now(), selectors.project_current()
    context = {
        "summaries": agent_summaries.agent_summaries(project, now=now),
        "since": agent_summaries.since(now),
        "may_create": may(request.user, MAKE_AGENT),
    }
    return render(request, "agents/index.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def agent_new(request: HttpRequest) -> HttpResponse:
    """A form of its own; `?connection=` names the connection it is to have."""
    asked = request.GET.get("connection", "").replace("\x00", "")
    named = selectors.connection_list(project=selectors.project_current()).filter(name=asked)
    form = AgentForm(_given(request), initial={"connection": named.first()})
    if request.method == "POST" and _saved(request, form):
        messages.success(request, f"The agent “{form.instance.name}” was created.")
        return redirect("agents:agent", form.instance.name)
    return _page(request, "agents/new.html", form, may(request.user, MAKE_AGENT))


@require_http_methods(["GET", "HEAD", "POST"])
def agent(request: HttpRequest, name: str) -> HttpResponse:
    """One agent: its settings, its limits in force, its turns of the last days."""
    agents = selectors.agent_list(project=selectors.project_current())
    found, shown = _named(request, agents, name), _named(request, agents, name)
    form = AgentForm(_given(request), instance=found)
    if request.method == "POST" and _saved(request, form):
        messages.success(request, "Saved. The changes apply from the next turn on.")
        return redirect("agents:agent", found.name)
    now = timezone.now()
    context = {
        "agent": shown,
        "summary": agent_summaries.agent_summary(shown, now=now),
        "since": agent_summaries.since(now),
        "may_limit": may(request.user, CHANGE_POLICY),
    }
    return _page(request, "agents/agent.html", form, may(request.user, CHANGE_AGENT), **context)


@require_safe
def connections(request: HttpRequest) -> HttpResponse:
    """Every connection with its address, and how its truncated answers are continued."""
    found = agent_summaries.connection_summaries(selectors.project_current())
    return render(
        request, "agents/connections.html", {"summaries": found, "may_create": may(request.user, MAKE_CONNECTION)}
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def connection_new(request: HttpRequest) -> HttpResponse:
    form = ConnectionForm(_given(request))
    if request.method == "POST" and _saved(request, form):
        return _connected(request, form, f"The connection “{form.instance.name}” was created.")
    return _page(request, "agents/connection_new.html", form, may(request.user, MAKE_CONNECTION))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def connection(request: HttpRequest, name: str) -> HttpResponse:
    """One connection: its settings, its last test, its agents."""
    connections = selectors.connection_list(project=selectors.project_current())
    found, shown = _named(request, connections, name), _named(request, connections, name)
    form = ConnectionForm(_given(request), instance=found, initial=_offered(request))
    if request.method == "POST" and _saved(request, form):
        return _connected(request, form, "Saved.")
    agents = selectors.agent_list(project=shown.project).filter(connection=shown)
    context = {
        "connection": shown,
        "agents": agents,
        "may_create": may(request.user, MAKE_AGENT),
        "key_state": state_in_words(shown.api_key_env, shown.base_url),
    }
    return _page(request, "agents/connection.html", form, may(request.user, CHANGE_CONNECTION), **context)


def _connected(request: HttpRequest, form: ConnectionForm, done: str) -> HttpResponse:
    """To the page of a connection that was saved, and tested where that was asked for."""
    saved, level = form.instance, messages.SUCCESS
    if TEST in request.POST:
        with on_behalf(cast("User", request.user), form.cleaned_data["why"]):
            found = connection_probe(connection=saved, model=form.cleaned_data["test_model"])
        level = messages.WARNING if found.finding is Finding.UNKNOWN else messages.SUCCESS
        done = f"{done} {saved.found_in_words()}"
    messages.add_message(request, level, done)
    return redirect("agents:connection", saved.name)


def _named(request: HttpRequest, rows: QuerySet[Row], name: str) -> Row:
    """The one of this name. A form of one that was renamed since finds it by the change that it was shown."""
    seen = request.POST.get("seen", "")
    found = rows.filter(name=name).first()
    if found is None and seen.isascii() and seen.isdigit() and len(seen) < MAX_DIGITS:
        found = rows.filter(changes__pgh_id=int(seen)).first()
    if found is None:
        raise Http404(f"There is nothing named “{name}”.")
    return found


def _offered(request: HttpRequest) -> dict[str, int]:
    """The ceiling that the page of a turn offers to set; nothing is stored before the form is sent."""
    told = request.GET.get("max_output_tokens", "")
    return {"max_output_tokens": int(told)} if told.isascii() and told.isdigit() and len(told) < 10 else {}


def _given(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


@transaction.atomic
def _saved(request: HttpRequest, form: Form) -> bool:
    """Whether what the form says is saved, on behalf of who sent it; what is wrong is then said by the form."""
    if not form.is_valid():
        return False
    try:
        with on_behalf(cast("User", request.user), form.cleaned_data["why"]):
            valid_save(form.instance)
    except ValidationError as error:
        form.add_error(None, error)
        return False
    return True


def _page(request: HttpRequest, template: str, form: Form, may_change: bool, **context: Any) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, template, {"form": form, "may_change": may_change, **context}, status=status)
