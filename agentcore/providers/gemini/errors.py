"""Google's errors: `{"error": {"code", "message", "status", "details"}}`, now and then alone in an array."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.errors import ProviderError
from agentcore.providers.wire import error_objects
from agentcore.providers.wire.untrusted_json import mapping, sequence, string


def find_error(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The error of a payload in the words of the shared judgement: its status as the code, its reason as the type."""
    error = error_objects.find_error(payload)
    if error is None:
        return None
    details = [mapping(detail) for detail in sequence(error.get("details"))]
    reason = next((string(detail.get("reason")) for detail in details if string(detail.get("reason"))), "")
    spent = any("perday" in quota.lower() for detail in details for quota in _quotas(detail))
    return {
        "code": string(error.get("status")) or error.get("code"),
        "type": "insufficient_quota" if spent else reason,
        "status_code": error.get("code"),
        "message": error.get("message"),
        "details": error.get("details"),
    }


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """What a failed call means. A quota counted per day does not heal while a turn waits."""
    return error_objects.decode_error(status, headers, body, find_error)


def _quotas(detail: Mapping[str, Any]) -> Iterator[str]:
    for violation in sequence(detail.get("violations")):
        yield string(mapping(violation).get("quotaId"))
