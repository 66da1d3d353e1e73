from django.apps import AppConfig


class InboxConfig(AppConfig):
    """What needs a person."""

    name = "dashboard.inbox"
    label = "inbox"

    def ready(self) -> None:
        from dashboard.inbox import services
        from dashboard.live.signals import approval_expired, calls_decided

        calls_decided.connect(services.decision_put, dispatch_uid="inbox.decisions")
        approval_expired.connect(services.expiry_put, dispatch_uid="inbox.expiries")
