"""Errors in the form and words of Google's APIs.

Sources: the Gemini API's reference, google.rpc's codes and error details, the official client (providers.md §1.7).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dashboard.gateway.wire.faults import Fault, kind_of

#: The word that goes with a status; clients make their exceptions of the status.
_STATUSES: Mapping[int, str] = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
#: Where a fault of the turn lies, which chat completions call otherwise.
_PARAMS: Mapping[str, str] = {"messages": "contents", "max_tokens": "generationConfig.maxOutputTokens"}
_TYPE = "type.googleapis.com/google.rpc."

Json = dict[str, Any]


def invalid(at: str, why: str) -> Fault:
    """What is wrong, and where, as `contents[0].parts` has it."""
    return Fault(400, f"Invalid value at '{at}': {why}", param=at)


def required(at: str) -> Fault:
    return Fault(400, f"{at}: it is not specified", param=at)


def expected(at: str, kind: str, given: object) -> Fault:
    return invalid(at, f"expected {kind}, not {kind_of(given)}")


def status_of(code: int) -> str:
    """Every status has a word: those without one of their own are the caller's fault, or else the server's."""
    return _STATUSES.get(code) or ("INVALID_ARGUMENT" if 400 <= code < 500 else "INTERNAL")


def fault_body(fault: Fault, request_id: str) -> bytes:
    """`{error: {code, message, status, details}}`."""
    told = {"code": fault.status, "message": fault.message, "status": status_of(fault.status)}
    return json.dumps({"error": {**told, "details": list(_details(fault, request_id))}}).encode()


def fault_event(fault: Fault, request_id: str) -> bytes:
    """The fault as the last event of a stream."""
    return b"data: " + fault_body(fault, request_id) + b"\n\n"


def _details(fault: Fault, request_id: str) -> Iterator[Json]:
    """What the message says in words, for programs: our code, the field, when to come back, the id of the request."""
    if fault.code:
        yield {"@type": f"{_TYPE}ErrorInfo", "reason": fault.code.upper(), "domain": "whystop"}
    if fault.param:
        field = _PARAMS.get(fault.param, fault.param)
        yield {"@type": f"{_TYPE}BadRequest", "fieldViolations": [{"field": field, "description": fault.message}]}
    if wait := dict(fault.headers).get("retry-after"):
        yield {"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{wait}s"}
    yield {"@type": f"{_TYPE}RequestInfo", "requestId": request_id}
