"""The Django app."""

from django.apps import AppConfig, apps


class AccountsConfig(AppConfig):
    """Users, API tokens, one-time codes and the rule for strangers."""

    name = "dashboard.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Pages call Django's groups roles; forms name bounds in the words used here."""
        from dashboard.platform.number_bounds import name_bounds

        name_bounds()
        name_roles()


def name_roles() -> None:
    """In the admin, in forms and in the audit log. No migration knows these names: they are not those of the classes'
    own definitions, which migrations are compared with."""
    auth = apps.get_app_config("auth")
    auth.verbose_name = "Roles"
    group, groups = auth.get_model("Group")._meta, apps.get_model("accounts", "User")._meta.get_field("groups")
    group.verbose_name, group.verbose_name_plural = "role", "roles"
    groups.verbose_name = "roles"
