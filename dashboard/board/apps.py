from django.apps import AppConfig


class BoardConfig(AppConfig):
    """The metrics board."""

    name = "dashboard.board"
    label = "board"
