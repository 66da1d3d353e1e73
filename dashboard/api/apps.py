from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The API for programs, /api/v1."""

    name = "dashboard.api"
    label = "api"
    default_auto_field = "django.db.models.BigAutoField"
