from django.apps import AppConfig
from django.db.models.signals import post_migrate


class TurnsConfig(AppConfig):
    """What happened: turns, their histories, and everything derived from them."""

    name = "dashboard.turns"
    label = "turns"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dashboard.turns import partitions

        post_migrate.connect(partitions.ensure_after_migrate, sender=self, dispatch_uid="turns.partitions")
