from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    """What runs it all: `manage.py up` and the door `/healthz`."""

    name = "dashboard.runtime"
    label = "runtime"
    default_auto_field = "django.db.models.BigAutoField"
