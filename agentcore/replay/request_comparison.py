"""What the calls of a recording ask for, to be compared: the same words, under whatever cap."""

from typing import Any

from agentcore.events import without_uncapped
from agentcore.messages import Message
from agentcore.snapshot import Snapshot

#: What a call asks for, without its cap: prompt, conversation and what is to be continued.
Asks = tuple[Any, ...]
_MESSAGES, _ECHO = 0, 1


def asks_of(snapshot: Snapshot) -> Asks:
    """What the pending call asks for, without its cap. Equal for equal requests."""
    call, asked = snapshot.call, snapshot.asked
    assert call is not None, "a call is pending"
    continued = None if call.hint is None else snapshot.answer.text
    return (
        snapshot.messages,
        call.echo,
        continued,
        call.hint,
        call.corrective,
        call.resume_token,
        asked.model,
        asked.system_prompt,
        asked.tools,
        asked.envelope_schema,
        without_uncapped(asked.extra),
    )


def alike(one: Asks, other: Asks) -> bool:
    """Whether two calls ask for the same in the same words, whatever ids and provider's own forms go along."""
    if one == other:
        return True
    if one[2:] != other[2:]:
        return False
    return all(worded(one[part]) == worded(other[part]) for part in (_MESSAGES, _ECHO))


def worded(messages: tuple[Message, ...]) -> list[tuple[Any, ...]]:
    """Messages without ids and the provider's own forms."""
    return [(m.role, m.text, tuple((call.name, call.raw) for call in m.tool_calls)) for m in messages]
