"""The app that takes traces in."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """`/v1/traces` and `/v1/logs`: OTLP/HTTP."""

    name = "dashboard.ingest"

    def ready(self) -> None:
        from dashboard.ingest import span_store
        from dashboard.timeline.signals import turns_leave

        turns_leave.connect(span_store.forget, dispatch_uid="ingest.spans")
