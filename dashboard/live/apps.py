from django.apps import AppConfig


class LiveConfig(AppConfig):
    """Drives turns: the only place that talks to providers and runs tools."""

    name = "dashboard.live"
    label = "live"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dashboard.live.operator_view import operator_view
        from dashboard.live.selectors import refused_of, waiting_words
        from dashboard.turns.operation import Operation, operation

        operation.provide(Operation(waiting_words, operator_view, refused_of))
