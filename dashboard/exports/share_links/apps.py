from django.apps import AppConfig


class ShareLinksConfig(AppConfig):
    """Links that show one turn to who has no account."""

    name = "dashboard.exports.share_links"
    label = "sharing"  # of its tables, as first created
    label = "sharing"
    default_auto_field = "django.db.models.BigAutoField"
