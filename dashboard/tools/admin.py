"""MCP servers in Django's admin. Who changed one, or looked for its tools, stands in the admin's log."""

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.platform.egress.keys import state_in_words
from dashboard.tools.forms import McpServerForm
from dashboard.tools.mcp.servers import chosen_name
from dashboard.tools.models import McpServer
from dashboard.tools.services import ToolDiscovery, mcp_server_look

LOOK = "_look"  #: the name of the button


@admin.register(McpServer)
class McpServerAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = McpServerForm
    change_form_template = "admin/tools/mcpserver/change_form.html"
    list_display = ("name", "transport", "place", "enabled", "number_of_tools", "refreshed_at")
    search_fields = ("name", "url", "command")
    readonly_fields = ("key_in_environment", "offers", "refreshed_at")

    @admin.display(description="address or command")
    def place(self, server: McpServer) -> str:
        return server.url or " ".join([server.command, *server.args])

    @admin.display(description="API key found")
    def key_in_environment(self, server: McpServer) -> str:
        return state_in_words(server.key_env, server.url if server.transport == "http" else "")

    @admin.display(description="tools")
    def number_of_tools(self, server: McpServer) -> int:
        return len(server.tools)

    @admin.display(description="tools offered")
    def offers(self, server: McpServer) -> SafeString | str:
        if not server.tools:
            return "none known yet: save, and look for tools"
        rows = [
            (chosen_name(server.name, tool["name"]), _after_a_crash(tool), tool["description"]) for tool in server.tools
        ]
        return format_html("<dl>{}</dl>", format_html_join("", "<dt><code>{}</code> – {}</dt><dd>{}</dd>", rows))

    def response_add(self, request: HttpRequest, obj: McpServer, post_url_continue: str | None = None) -> HttpResponse:
        return self._looked(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: McpServer) -> HttpResponse:
        return self._looked(request, obj) or super().response_change(request, obj)

    def _looked(self, request: HttpRequest, server: McpServer) -> HttpResponse | None:
        """What the server offers, said on its own page; None where nobody asked."""
        if LOOK not in request.POST:
            return None
        look = mcp_server_look(server=server)
        level, words = _told(look, server)
        messages.add_message(request, level, words)
        self.log_change(request, server, words)
        return redirect("admin:tools_mcpserver_change", server.pk)


def _after_a_crash(tool: dict[str, bool]) -> str:
    return "may run again after a crash" if tool["idempotent"] else "never runs twice"


def _told(look: ToolDiscovery, server: McpServer) -> tuple[int, str]:
    if look.problem:
        return messages.ERROR, f"{look.problem} {f'It said: {look.heard}' if look.heard else ''}".strip()
    words = f"“{server.name}” answers; it offers {look.found:,} tool{'' if look.found == 1 else 's'}."
    if look.left_out:
        return messages.WARNING, f"{words} Left out: {' '.join(look.left_out)}"
    return messages.SUCCESS, words
