from django.apps import AppConfig


class ToolsConfig(AppConfig):
    """What agents may use: Python callables of ours, and tools of MCP servers."""

    name = "dashboard.tools"
    verbose_name = "Tools"
