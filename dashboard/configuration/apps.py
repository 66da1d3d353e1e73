from django.apps import AppConfig


class ConfigurationConfig(AppConfig):
    """Projects, agents and connections, by page."""

    name = "dashboard.configuration"
    label = "configuration"
