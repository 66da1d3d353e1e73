from django.apps import AppConfig


class LintConfig(AppConfig):
    """Stop reasons that may hide a cut: the report."""

    name = "dashboard.timeline.lint"
    label = "linting"  # of its tables, as first created
    label = "linting"
    default_auto_field = "django.db.models.BigAutoField"
