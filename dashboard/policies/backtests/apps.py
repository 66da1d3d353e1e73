from django.apps import AppConfig


class BacktestsConfig(AppConfig):
    """A draft policy tried over stored turns."""

    name = "dashboard.policies.backtests"
    label = "backtests"
    default_auto_field = "django.db.models.BigAutoField"
