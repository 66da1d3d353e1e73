from django.apps import AppConfig


class ExportsConfig(AppConfig):
    """Turns of any filter as JSONL or Parquet."""

    name = "dashboard.exports"
    label = "exports"
