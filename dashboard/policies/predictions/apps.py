from django.apps import AppConfig


class PredictionsConfig(AppConfig):
    """The track record of what-ifs."""

    name = "dashboard.policies.predictions"
    label = "predictions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dashboard.policies.predictions import forecast
        from dashboard.replay.forecaster import forecaster

        forecaster.provide(forecast)
