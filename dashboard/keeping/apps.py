from django.apps import AppConfig


class KeepingConfig(AppConfig):
    """Turns as files: out of one installation, into another."""

    name = "dashboard.keeping"
    label = "keeping"
    default_auto_field = "django.db.models.BigAutoField"
