"""The Django app."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """`/v1/…`: an OpenAI-compatible door to agents and connections, its keys and its calls."""

    name = "dashboard.gateway"
    label = "gateway"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dashboard.accounts.signals import keys_end
        from dashboard.gateway.services import keys_of_member_revoke

        keys_end.connect(keys_of_member_revoke, dispatch_uid="gateway.keys")
