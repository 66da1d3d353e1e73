"""The Django app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users, API tokens, one-time codes and the rule for strangers."""

    name = "dashboard.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"
