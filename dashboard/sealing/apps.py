from django.apps import AppConfig


class SealingConfig(AppConfig):
    """Evidence that no stored history was changed: chains of hashes, and signed seals over them."""

    name = "dashboard.sealing"
    label = "sealing"
    default_auto_field = "django.db.models.BigAutoField"
