from django.apps import AppConfig


class CommentsConfig(AppConfig):
    """What people say about a turn, at one of its transitions."""

    name = "dashboard.turns.comments"
    verbose_name = "Comments"
    label = "commenting"  # of its tables, as first created
    label = "commenting"
    default_auto_field = "django.db.models.BigAutoField"
