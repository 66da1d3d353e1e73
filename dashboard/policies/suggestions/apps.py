from django.apps import AppConfig


class SuggestionsConfig(AppConfig):
    """The limit that would have let a turn finish."""

    name = "dashboard.policies.suggestions"
    label = "suggesting"  # of its tables, as first created

    def ready(self) -> None:
        from dashboard.policies.suggestions.list_suggestions import limit_orders
        from dashboard.turns import sort_order

        sort_order.limit_orders.provide(limit_orders)
