"""`/v1/messages/count_tokens`: how long a request is, which only an upstream of the same dialect can say."""

from typing import Any

from dashboard.gateway.routing import Route
from dashboard.gateway.serving.beginning import speaks_alike
from dashboard.gateway.wire.asked import Asked
from dashboard.gateway.wire.doors import BY_DIALECT
from dashboard.gateway.wire.faults import Fault, unsupported

PATH = "/v1/messages/count_tokens"


def uncounted(asked: Asked, route: Route) -> Fault | None:
    """Why nobody can count them."""
    if speaks_alike(asked, route):
        return None
    who = f"the connection “{route.connection.name}” speaks {route.provider.name}"
    return unsupported("model", f"{who}, which has no address that counts tokens")


def counted(asked: Asked, route: Route) -> dict[str, Any]:
    """What is counted: the request for the model that was meant, with what its agent is told."""
    body = {**asked.body, "model": route.model}
    if route.system_prompt:
        BY_DIALECT[asked.dialect].prompt(body, route.system_prompt)
    return body
