"""The faults of unknown addresses, and of methods and callers that are refused."""

from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.gateway.access.refusals import Refusal
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import METHODS
from dashboard.gateway.wire.misplaced_paths import advice_for

MODELS, RESPONSES, GEMINI_MODELS = "/v1/models", "/v1/responses", "/v1beta/models"
_OLLAMA = "/api/"
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
    """The fault of a path that a client of another API asks for; None for any other. Pages may have the other paths, so
    these are only posted to; only Ollama's clients read below /api, where the REST API begins with /api/v1."""
    asks = scope["method"] == "POST" or scope["path"].startswith(_OLLAMA)
    advice = advice_for(scope["path"]) if asks else ""
    told = f"Unknown request URL: {scope['method']} {scope['path'][:200]}. {advice}"
    return Fault(404, told, code="unknown_url") if advice else None


def wrong_method(scope: Scope, allowed: str) -> Fault:
    message = f"{scope['path'][:200]} does not accept {scope['method']} requests. Use {allowed}."
    return Fault(405, message, code="method_not_supported", headers=(("allow", allowed.replace(" or ", ", ")),))
