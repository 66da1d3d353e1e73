from django.apps import AppConfig


class PoliciesConfig(AppConfig):
    """Policies looked at, compared, activated, tried in the shadow of live turns, and held to account."""

    name = "dashboard.policies"
    label = "policies"
    default_auto_field = "django.db.models.BigAutoField"
