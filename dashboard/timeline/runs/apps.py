from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Calls that go on from one another."""

    name = "dashboard.timeline.runs"
    label = "runs"
