from django.apps import AppConfig, apps
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, pre_migrate


class SqlViewsConfig(AppConfig):
    """What an analyst asks by SQL."""

    name = "dashboard.turns.sql_views"
    label = "querying"  # of its tables, as first created
    label = "querying"

    def ready(self) -> None:
        """Views and comments are made after the tables."""
        from dashboard.turns.sql_views import view_installer

        teller = apps.get_app_config("turns")  # an app without models of its own is told nothing
        connection_created.connect(view_installer.stay_in_public, dispatch_uid="querying")
        pre_migrate.connect(view_installer.before_migrations, sender=teller, dispatch_uid="querying")
        post_migrate.connect(view_installer.after_migrations, sender=teller, dispatch_uid="querying")
