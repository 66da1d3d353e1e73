from django.apps import AppConfig


class SuggestingConfig(AppConfig):
    """The limit that would have let a turn finish."""

    name = "dashboard.suggesting"
    label = "suggesting"
