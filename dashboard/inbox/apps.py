from django.apps import AppConfig


class InboxConfig(AppConfig):
    """What needs a person."""

    name = "dashboard.inbox"
    label = "inbox"
