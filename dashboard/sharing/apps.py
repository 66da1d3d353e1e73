from django.apps import AppConfig


class SharingConfig(AppConfig):
    """Links that show one turn to who has no account."""

    name = "dashboard.sharing"
    label = "sharing"
    default_auto_field = "django.db.models.BigAutoField"
