"""What the gateway says where nothing is, or where a method or a caller is refused."""

from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.gateway.access.refusals import Refusal
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import METHODS
from dashboard.gateway.wire.misplaced_paths import advice_for

MODELS, RESPONSES, GEMINI_MODELS = "/v1/models", "/v1/responses", "/v1beta/models"
Scope = Mapping[str, Any]


def refused_as(refusal: Refusal) -> Fault:
    headers: Mapping[str, str] = refusal.headers()
    return Fault(refusal.status, refusal.message, refusal.type, refusal.code, headers=tuple(headers.items()))


def unknown_address(scope: Scope, posted: Iterable[str]) -> Fault:
    advice = advice_for(scope["path"])
    message = (
        f"Unknown request URL: {scope['method']} {scope['path'][:200]}. {advice}{' ' if advice else ''}"
        f"This gateway answers {', '.join(f'POST {path}' for path in posted)}, GET {MODELS}, GET {MODELS}/…, "
        f"GET or DELETE {RESPONSES}/…, /v1/files and /v1/batches, "
        f"POST {GEMINI_MODELS}/…:{'|'.join(METHODS)} and GET {GEMINI_MODELS}"
    )
    return Fault(404, message, code="unknown_url")


def misplaced(scope: Scope) -> Fault | None:
    """What is said of a path that clients post to elsewhere and that is none here; None for any other."""
    advice = advice_for(scope["path"]) if scope["method"] == "POST" else ""
    told = f"Unknown request URL: POST {scope['path'][:200]}. {advice}"
    return Fault(404, told, code="unknown_url") if advice else None


def wrong_method(scope: Scope, allowed: str) -> Fault:
    message = f"{scope['path'][:200]} does not accept {scope['method']} requests. Use {allowed}."
    return Fault(405, message, code="method_not_supported", headers=(("allow", allowed.replace(" or ", ", ")),))
