from django.apps import AppConfig


class SuggestionsConfig(AppConfig):
    """The limit that would have let a turn finish."""

    name = "dashboard.policies.suggestions"
    label = "suggesting"  # of its tables, as first created

    def ready(self) -> None:
        from dashboard.policies.backtests import proofs
        from dashboard.policies.suggestions.api_suggestions import suggestions_shown
        from dashboard.policies.suggestions.list_suggestions import limit_orders
        from dashboard.policies.suggestions.reruns import completed_reruns
        from dashboard.turns import api_serializers, sort_order

        api_serializers.turn_suggestions.provide(suggestions_shown)
        sort_order.limit_orders.provide(limit_orders)
        proofs.completed_reruns.provide(completed_reruns)
