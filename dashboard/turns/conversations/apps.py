from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """Turns with one agent, one after another."""

    name = "dashboard.turns.conversations"
    label = "conversations"
    default_auto_field = "django.db.models.BigAutoField"
