from django.apps import AppConfig


class ToolsConfig(AppConfig):
    """What agents may use: Python callables of ours, and tools of MCP servers."""

    name = "dashboard.tools"
    verbose_name = "Tools"

    def ready(self) -> None:
        from dashboard.agents.offered_tools import offered_tools
        from dashboard.tools.selectors import tools_offered

        offered_tools.provide(tools_offered)
