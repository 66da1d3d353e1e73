"""How a cut answer is asked to go on (design §3.3), in the two ways that dialects have."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from agentcore.messages import ChatRequest

#: Keys of `ChatRequest.extra` that steer the codecs and are not sent.
SETTINGS = frozenset({"hint_role", "max_tokens_field", "prefill"})
_QUOTED_CHARS = 200  #: how much of the end the model is shown: enough to find its place, also in code


class Going(NamedTuple):
    """What a continuation adds to a request: to the system prompt, as an assistant message, as a user message."""

    system: str = ""
    assistant: str = ""
    user: str = ""


def sent_extra(request: ChatRequest) -> dict[str, Any]:
    """The keys of `extra` that go into the body."""
    return {key: value for key, value in request.extra.items() if key not in SETTINGS}


def prefills(extra: Mapping[str, Any]) -> bool:
    """Whether this connection's model goes on writing a last assistant message."""
    return bool(extra.get("prefill"))


def interrupted(text: str) -> str:
    """The sentence that Anthropic gives for an answer that broke off (providers.md §1.6)."""
    ending = text[-_QUOTED_CHARS:]
    return f"Your previous response was interrupted and ended with `{ending}`. Continue from there."


def by_user_turn(request: ChatRequest) -> Going:
    """For dialects whose conversations end with the user: the hint goes to the system prompt."""
    continuation = request.continuation
    if continuation is None:
        return Going()
    if not continuation.text:
        return Going(system=continuation.hint)
    if prefills(request.extra):
        return Going(assistant=continuation.text)
    return Going(continuation.hint, continuation.text, interrupted(continuation.text))


def by_hint_message(request: ChatRequest) -> list[tuple[str, str]]:
    """For OpenAI-style dialects: the messages to add, each a role and its text."""
    continuation = request.continuation
    if continuation is None:
        return []
    said = [("assistant", continuation.text)] if continuation.text else []
    if (continuation.text and prefills(request.extra)) or not continuation.hint:
        return said
    role = request.extra.get("hint_role")
    return [*said, (role if isinstance(role, str) and role else "system", continuation.hint)]


def by_user_turn_trimmed(request: ChatRequest) -> Going:
    """As `by_user_turn`, for Claude: it refuses blank text, and a prefill that ends in whitespace."""
    going = by_user_turn(request)
    if not going.assistant.strip():
        return Going(system=request.continuation.hint) if request.continuation else going
    return going if going.user else going._replace(assistant=going.assistant.rstrip())
