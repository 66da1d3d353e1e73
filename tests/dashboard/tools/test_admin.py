"""MCP servers in the admin: made, looked into, and every change in the log."""

from html import unescape

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from dashboard.agents.models import Agent
from dashboard.tools.models import McpServer

pytestmark = pytest.mark.django_db

FORM = {
    "name": "near",
    "transport": "http",
    "args": "[]",
    "key_header": "Authorization",
    "timeout": "5",
    "enabled": "on",
}


def page(client: Client, address: str, data: dict[str, str] | None = None) -> str:
    answer = client.get(address) if data is None else client.post(address, data, follow=True)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_a_server_is_created_and_inspected_in_one_step(admin_client, mcp_url):
    shown = page(admin_client, reverse("admin:tools_mcpserver_add"), {**FORM, "url": mcp_url, "_look": "1"})
    assert "“near” answers; it offers 10 tools." in shown
    assert "<code>near.greet</code> – may run again after a crash" in shown
    assert "<code>near.die</code> – never runs twice" in shown
    assert McpServer.objects.get().refreshed_at is not None


def test_a_server_that_does_not_answer_is_saved_with_the_reason(admin_client):
    data = {**FORM, "url": "http://127.0.0.1:9/mcp", "_look": "1"}
    assert "cannot be reached at http://127.0.0.1:9/mcp" in page(
        admin_client, reverse("admin:tools_mcpserver_add"), data
    )
    assert McpServer.objects.count() == 1


def test_the_form_explains_commands_and_says_whether_they_are_allowed(admin_client, settings):
    address = reverse("admin:tools_mcpserver_add")
    assert "To allow them, start Whystop with WHYSTOP_MCP_STDIO=1." in page(admin_client, address)
    refused = page(admin_client, address, {**FORM, "transport": "stdio", "command": "x"})
    assert "Commands run only if Whystop was started with WHYSTOP_MCP_STDIO=1" in refused
    settings.MCP_STDIO = True
    assert "can run programs on the machine that Whystop runs on" in page(admin_client, address)


def test_changes_and_inspections_of_a_server_are_logged(admin_client, admin_user, http_server):
    address = reverse("admin:tools_mcpserver_change", args=[http_server.pk])
    data = {**FORM, "name": "web", "url": http_server.url, "timeout": "7"}
    page(admin_client, address, data)
    page(admin_client, address, {**data, "_look": "1"})
    entries = LogEntry.objects.filter(object_id=str(http_server.pk)).order_by("action_time")
    assert {entry.user for entry in entries} == {admin_user}
    said = " ".join(entry.get_change_message() for entry in entries)
    assert "Timeout" in said
    assert "it offers 10 tools" in said


def test_no_key_is_shown(admin_client, http_server, monkeypatch):
    monkeypatch.setenv("NEAR_API_KEY", "tell-nobody")
    McpServer.objects.update(key_env="NEAR_API_KEY")
    shown = page(admin_client, reverse("admin:tools_mcpserver_change", args=[http_server.pk]))
    assert "NEAR_API_KEY" in shown
    assert "tell-nobody" not in shown + page(admin_client, reverse("admin:tools_mcpserver_changelist"))


def test_an_agents_form_lists_the_tools_with_their_descriptions(admin_client, http_server, agent_of):
    page(
        admin_client,
        reverse("admin:tools_mcpserver_change", args=[http_server.pk]),
        {**FORM, "url": http_server.url, "name": "web", "_look": "1"},
    )
    agent = agent_of("sim-tools", tools=["web.greet", "calculator"])
    address = reverse("admin:agents_agent_change", args=[agent.pk])
    assert "<code>web.greet</code> <small>Greet somebody.</small>" in page(admin_client, address)
    McpServer.objects.all().delete()
    assert "<code>web.greet</code> <small>It no longer exists. Remove it.</small>" in page(admin_client, address)
    data = {
        "name": agent.name,
        "connection": str(agent.connection_id),
        "model": "m",
        "max_tokens": "9",
        "tools": ["calculator"],
        "envelope_schema": "null",
        "gateway_mode": "continue",
    }
    page(admin_client, address, data)
    assert Agent.objects.get().tools == ["calculator"]
