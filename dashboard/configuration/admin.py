"""Connections and agents in Django's admin. No key is ever shown: only whether the environment holds it."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from agentcore.number_format import number
from agentcore.policy import LIMIT_NAMES
from dashboard.accounts.models import User
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.forms import TEST, AgentForm, ConnectionForm
from dashboard.agents.models import Agent, Connection
from dashboard.agents.probes import Finding
from dashboard.agents.samples import connection_provider_shown
from dashboard.live.probe_service import connection_probe
from dashboard.platform.egress.keys import state_in_words


class Audited(admin.ModelAdmin):  # type: ignore[type-arg]
    """What is changed here is kept with who did it, and why."""

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with on_behalf(_person(request), request.POST.get("why", "")):
            return super().changeform_view(request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with on_behalf(_person(request)):
            return super().delete_view(request, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with on_behalf(_person(request)):
            return super().changelist_view(request, *args, **kwargs)


def _person(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


@admin.register(Connection)
class ConnectionAdmin(Audited):
    form = ConnectionForm
    change_form_template = "admin/agents/connection/change_form.html"
    list_display = ("name", "spoken_to", "base_url", "key_in_environment", "max_output_tokens", "prefill")
    search_fields = ("name", "base_url")
    readonly_fields = ("key_in_environment", "continues", "last_test")

    @admin.display(description="provider", ordering="provider")
    def spoken_to(self, connection: Connection) -> str:
        return connection_provider_shown(connection)

    @admin.display(description="API key found")
    def key_in_environment(self, connection: Connection) -> str:
        return state_in_words(connection.api_key_env, connection.base_url)

    @admin.display(description="continuation of truncated answers")
    def continues(self, connection: Connection) -> str:
        return connection.way_in_words()

    @admin.display(description="last test")
    def last_test(self, connection: Connection) -> str:
        return connection.found_in_words()

    def save_model(self, request: HttpRequest, obj: Connection, form: ConnectionForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if TEST in request.POST:
            connection_probe(connection=obj, model=form.cleaned_data["test_model"])

    def response_add(self, request: HttpRequest, obj: Connection, post_url_continue: str | None = None) -> HttpResponse:
        return self._tested(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Connection) -> HttpResponse:
        return self._tested(request, obj) or super().response_change(request, obj)

    def _tested(self, request: HttpRequest, connection: Connection) -> HttpResponse | None:
        """What the test found, said on the connection's own page; None where nobody asked."""
        if TEST not in request.POST:
            return None
        known = connection.found is not None and connection.found.finding is not Finding.UNKNOWN
        messages.add_message(
            request, messages.SUCCESS if known else messages.WARNING, f"Saved. {connection.found_in_words()}"
        )
        return redirect("admin:agents_connection_change", connection.pk)


@admin.register(Agent)
class AgentAdmin(Audited):
    form = AgentForm
    list_display = ("name", "connection", "model", "cap", "policy", "gateway_mode")
    list_select_related = ("connection", "policy")
    search_fields = ("name", "model")

    @admin.display(description=LIMIT_NAMES["max_tokens"], ordering="max_tokens")
    def cap(self, agent: Agent) -> str:
        return number(agent.max_tokens)
