from django.apps import AppConfig


class LiveConfig(AppConfig):
    """Drives turns: the only place that talks to providers and runs tools."""

    name = "dashboard.live"
    label = "live"
    default_auto_field = "django.db.models.BigAutoField"
