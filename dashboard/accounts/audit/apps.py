from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Who changed what, when and from where."""

    name = "dashboard.accounts.audit"
    label = "audit"
