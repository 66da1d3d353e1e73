from django.apps import AppConfig


class SealsConfig(AppConfig):
    """Evidence that no stored history was changed: chains of hashes, and signed seals over them."""

    name = "dashboard.turns.seals"
    label = "sealing"  # of its tables, as first created
    label = "sealing"
    default_auto_field = "django.db.models.BigAutoField"
