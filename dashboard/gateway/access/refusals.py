"""Why a call is not let through, as a value; the gateway says it in OpenAI's form."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from agentcore import number_format


@dataclass(frozen=True, slots=True)
class Refusal:
    """`type` and `code` are the words OpenAI's clients know; `retry_after`: seconds, where waiting helps."""

    status: int
    type: str
    code: str
    message: str
    retry_after: float | None = None

    def body(self) -> dict[str, Any]:
        """The error as OpenAI's clients read it."""
        return {"error": {"message": self.message, "type": self.type, "param": None, "code": self.code}}

    def headers(self) -> dict[str, str]:
        """When to come back. A budget does not fill up while a client's own retries last, so it is told not to try."""
        told = {} if self.retry_after is None else {"retry-after": str(max(1, ceil(self.retry_after)))}
        if self.status == 401:
            told["www-authenticate"] = 'Bearer realm="whystop"'
        return {**told, "x-should-retry": "false"} if self.code == "insufficient_quota" else told


NO_KEY = Refusal(
    401,
    "invalid_request_error",
    "invalid_api_key",
    "Send `Authorization: Bearer <key>`, `x-api-key: <key>` or `x-goog-api-key: <key>`. Create a key at "
    "/gateway/keys, or send a user's API token.",
)
KEY_IN_ADDRESS = Refusal(
    401,
    "invalid_request_error",
    "invalid_api_key",
    "The key is in the address (`?key=`), where logs would record it. Send it as `x-goog-api-key: <key>`.",
)
WRONG_KEY = Refusal(
    401,
    "invalid_request_error",
    "invalid_api_key",
    # Clients tell a wrong key from a bad request by the first words, which are OpenAI's (LiteLLM does).
    "Incorrect API key provided: it is unknown, expired or revoked. Create a new one at /gateway/keys.",
)
UNREADABLE = Refusal(
    503,
    "server_error",
    "keys_unreadable",
    "The database does not answer, so this key cannot be looked up. Try again soon.",
    retry_after=2,
)


def may_not(why: str) -> Refusal:
    """`why`: the scope or the right that is missing, in a sentence."""
    return Refusal(403, "invalid_request_error", "permission_denied", why)


def out_of_scope(*, key: str, wanted: str) -> Refusal:
    """What OpenAI answers for a model a project has no access to, with our own sentence."""
    message = f"The key “{key}” may not call “{wanted}”. The creator of the key can allow it at /gateway/keys."
    return Refusal(403, "invalid_request_error", "model_not_found", message)


def too_fast(*, what: str, limit: int, retry_after: float) -> Refusal:
    """`what`: requests or tokens."""
    wait = number_format.seconds(max(1, ceil(retry_after)))
    message = f"This key has reached its limit of {limit:,} {what} per minute. Try again in {wait}."
    return Refusal(429, what, "rate_limit_exceeded", message, retry_after)


def spent(*, what: str, span: str, retry_after: float | None) -> Refusal:
    """`what`: the budget with its unit."""
    again = (
        ("The budget resets at the end of that period.")
        if retry_after is not None
        else "Raise the budget to use the key again."
    )
    message = f"This key's budget of {what} {span} is spent. {again}"
    return Refusal(429, "insufficient_quota", "insufficient_quota", message, retry_after)
