from django.apps import AppConfig


class AlertingConfig(AppConfig):
    """Alerts on metrics."""

    name = "dashboard.alerting"
    label = "alerting"
    default_auto_field = "django.db.models.BigAutoField"
