from django.apps import AppConfig


class SuggestionsConfig(AppConfig):
    """The limit that would have let a turn finish."""

    name = "dashboard.policies.suggestions"
    label = "suggesting"  # of its tables, as first created
    label = "suggesting"
