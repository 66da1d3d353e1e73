from django.apps import AppConfig


class LintingConfig(AppConfig):
    """Stop reasons that may hide a cut: the report."""

    name = "dashboard.linting"
    label = "linting"
    default_auto_field = "django.db.models.BigAutoField"
