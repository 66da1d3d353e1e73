"""The app that takes traces in."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """`/v1/traces` and `/v1/logs`: OTLP/HTTP."""

    name = "dashboard.ingest"
