from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """Backup, restore and health checks of an installation."""

    name = "dashboard.runtime.operations"
    label = "operations"
