from django.apps import AppConfig


class ReplayConfig(AppConfig):
    """Verify, what-if, re-run, backtest: asking recorded turns what other limits would have done."""

    name = "dashboard.replay"
    label = "replay"
    default_auto_field = "django.db.models.BigAutoField"
