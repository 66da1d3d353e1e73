from django.apps import AppConfig


class TimelineConfig(AppConfig):
    """Counts of turns by facet and over time, saved views, and what is done to many turns at once."""

    name = "dashboard.timeline"
    label = "timeline"
    default_auto_field = "django.db.models.BigAutoField"
