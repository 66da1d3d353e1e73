"""The app that takes logs in."""

from django.apps import AppConfig


class LogsConfig(AppConfig):
    """`manage.py import`: turns from logs that people already have."""

    name = "dashboard.ingest.logs"
