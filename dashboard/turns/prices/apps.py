from django.apps import AppConfig


class PricesConfig(AppConfig):
    """What turns cost, at list prices."""

    name = "dashboard.turns.prices"
    label = "prices"
