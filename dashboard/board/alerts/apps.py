from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Alerts on metrics."""

    name = "dashboard.board.alerts"
    label = "alerting"  # of its tables, as first created
    label = "alerting"
    default_auto_field = "django.db.models.BigAutoField"
