from django.apps import AppConfig


class SuggestionsConfig(AppConfig):
    """The limit that would have let a turn finish."""

    name = "dashboard.policies.suggestions"
    label = "suggesting"  # of its tables, as first created

    def ready(self) -> None:
        from dashboard.policies.suggestions.limit_order import limit_orders
        from dashboard.turns.sort_order import sort_limits_by

        sort_limits_by(limit_orders)
