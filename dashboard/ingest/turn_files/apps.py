from django.apps import AppConfig


class TurnFilesConfig(AppConfig):
    """Turns as files: out of one installation, into another."""

    name = "dashboard.ingest.turn_files"
    label = "keeping"  # of its tables, as first created
    label = "keeping"
    default_auto_field = "django.db.models.BigAutoField"
