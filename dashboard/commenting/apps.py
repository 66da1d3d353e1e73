from django.apps import AppConfig


class CommentingConfig(AppConfig):
    """What people say about a turn, at one of its transitions."""

    name = "dashboard.commenting"
    label = "commenting"
    default_auto_field = "django.db.models.BigAutoField"
