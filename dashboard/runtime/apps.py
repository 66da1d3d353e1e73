import gc

from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    """What runs it all: `manage.py up` and the door `/healthz`."""

    name = "dashboard.runtime"
    label = "runtime"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """All that is loaded by now stays, and is not searched for garbage again; `manage.py` put that off till now.
        Statements of every connection have a limit of time."""
        from dashboard.platform import statement_timeout

        statement_timeout.begin()
        gc.freeze()
        gc.enable()
