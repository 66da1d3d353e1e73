from django.apps import AppConfig


class IdempotencyConfig(AppConfig):
    """Answers to writes, kept for a day."""

    name = "dashboard.api.idempotency"
    label = "idempotency"
    default_auto_field = "django.db.models.BigAutoField"
