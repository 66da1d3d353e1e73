"""Errors in Anthropic's form and words.

Sources: the Messages API's reference and the official client's types (providers.md §1.6).
"""

import json
from collections.abc import Mapping

from dashboard.gateway.wire.faults import Fault, kind_of

#: The type that goes with a status; its clients make their exceptions of the status.
_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_ERROR = "api_error"  #: ours, or the provider's


def invalid(at: str, why: str) -> Fault:
    """What is wrong, and where, as `messages.0.role` has it."""
    return Fault(400, f"{at}: {why}", param=at)


def required(at: str) -> Fault:
    return invalid(at, "Field required")


def expected(at: str, kind: str, given: object) -> Fault:
    return invalid(at, f"Input should be {kind}, not {kind_of(given)}")


def type_of(status: int) -> str:
    """Every status has a type: those without one of their own are the caller's fault, or else the server's."""
    return _TYPES.get(status) or ("invalid_request_error" if 400 <= status < 500 else _ERROR)


def fault_body(fault: Fault, request_id: str) -> bytes:
    """`{type: error, error: {type, message}, request_id}`; a code of ours stands where Anthropic puts its own."""
    error: dict[str, object] = {"type": type_of(fault.status), "message": fault.message}
    if fault.code:
        error["details"] = {"error_code": fault.code}
    return json.dumps({"type": "error", "error": error, "request_id": request_id}).encode()


def fault_event(fault: Fault, request_id: str) -> bytes:
    """The fault as the last event of a stream."""
    return b"event: error\ndata: " + fault_body(fault, request_id) + b"\n\n"
