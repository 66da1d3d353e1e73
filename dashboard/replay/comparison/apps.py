from django.apps import AppConfig


class ComparisonConfig(AppConfig):
    """Any two turns side by side."""

    name = "dashboard.replay.comparison"
    label = "comparing"  # of its tables, as first created
    label = "comparing"
    default_auto_field = "django.db.models.BigAutoField"
