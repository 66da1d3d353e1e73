"""The Django app."""

from django.apps import AppConfig, apps


class AccountsConfig(AppConfig):
    """Users, API tokens, one-time codes and the rule for strangers."""

    name = "dashboard.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """In the admin Django's groups stand under what they are here; forms name bounds in the words used here."""
        from dashboard.platform.number_bounds import name_bounds

        name_bounds()
        apps.get_app_config("auth").verbose_name = "Roles"
