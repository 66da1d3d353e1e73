from django.apps import AppConfig


class TourConfig(AppConfig):
    """The first steps."""

    name = "dashboard.tour"
    label = "tour"
