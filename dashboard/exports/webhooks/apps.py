from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Webhooks, and what was sent to them."""

    name = "dashboard.exports.webhooks"
    label = "webhooks"
    default_auto_field = "django.db.models.BigAutoField"
