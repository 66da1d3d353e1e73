from django.apps import AppConfig


class ComparingConfig(AppConfig):
    """Any two turns side by side."""

    name = "dashboard.comparing"
    label = "comparing"
    default_auto_field = "django.db.models.BigAutoField"
