"""The app that takes traces in."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """`/v1/traces` and `/v1/logs`: OTLP/HTTP."""

    name = "dashboard.ingest"

    def ready(self) -> None:
        from dashboard.ingest import span_store
        from dashboard.ingest.models import Ingested
        from dashboard.ingest.turn_files.models import Origin
        from dashboard.timeline.signals import turns_leave
        from dashboard.turns.seals.row_parts import OriginTables, origin_tables

        turns_leave.connect(span_store.forget, dispatch_uid="ingest.spans")
        origin_tables.provide(OriginTables(Origin, Ingested))
