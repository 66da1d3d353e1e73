"""The Django app."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """`/v1/…`: an OpenAI-compatible door to agents and connections, its keys and its calls."""

    name = "dashboard.gateway"
    label = "gateway"
    default_auto_field = "django.db.models.BigAutoField"
