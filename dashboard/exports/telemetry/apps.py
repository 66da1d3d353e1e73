from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    """Where turns are sent as spans and metrics."""

    name = "dashboard.exports.telemetry"
    label = "telemetry"
    verbose_name = "Telemetry"
    default_auto_field = "django.db.models.BigAutoField"
