"""`/v1/messages/count_tokens`: asks an upstream of the same dialect, the only one that can count."""

from typing import Any

from dashboard.gateway.routing import Route
from dashboard.gateway.serving.turn_setup import same_dialect
from dashboard.gateway.wire.caller_dialects import BY_DIALECT
from dashboard.gateway.wire.faults import Fault, unsupported
from dashboard.gateway.wire.parsed_request import ParsedRequest

PATH = "/v1/messages/count_tokens"


def uncounted(asked: ParsedRequest, route: Route) -> Fault | None:
    """Why nobody can count them."""
    if same_dialect(asked, route):
        return None
    who = f"the connection “{route.connection.name}” speaks {route.provider.name}"
    return unsupported("model", f"{who}, which has no endpoint that counts tokens")


def counted(asked: ParsedRequest, route: Route) -> dict[str, Any]:
    """What is counted: the request for the model that was meant, with what its agent is told."""
    body = {**asked.body, "model": route.model}
    if route.system_prompt:
        BY_DIALECT[asked.dialect].prompt(body, route.system_prompt)
    return body
