"""Changes of a re-run beside its limits: messages, tool results, connection."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.events import Setup, ToolResult
from agentcore.messages import Message, Role
from agentcore.providers import get_provider
from agentcore.providers.wire.request_messages import FIRST_CALL, HEADERS, SETTINGS
from agentcore.providers.wire.untrusted_json import mapping
from agentcore.quoting import quoted
from agentcore.snapshot import Snapshot
from agentcore.states import State
from agentcore.values import replace
from dashboard.agents.models import Connection
from dashboard.agents.policy_validation import listed
from dashboard.agents.selectors import connection_list
from dashboard.live.services import MAX_INPUT_CHARS, settings_of
from dashboard.live.turn_loader import connection_of
from dashboard.platform.fields import storable_text
from dashboard.turns.models import Turn
from dashboard.turns.sent_caps import cap_note

CAP_NAME = "max_tokens_field"
#: The settings among a turn's fields that are its caller's, and not its connection's.
OF_CALLER = frozenset({FIRST_CALL, HEADERS})
#: Names that ask for nothing of their own: the framing, and the tools, which any dialect is told in its own way.
NOT_ASKED = OF_CALLER | {CAP_NAME, "uncapped", "stream_options", "tools", "anthropic-version"}


@dataclass(frozen=True, slots=True)
class RerunChanges:
    """`messages`: new texts by place in the conversation, from 1; `results`: by the id of the call, in place of running
    the tool. `breakpoints`: as a turn's; None leaves what there is."""

    messages: Mapping[int, str] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    connection: str | None = None  #: by name; None: as the parent
    breakpoints: Sequence[Mapping[str, Any]] | None = None


def result_text(result: Any) -> str:
    """A tool's result as the model reads it."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ChangedConversation:
    """A conversation with other words in it. `changed`: the places that differ, from 1."""

    messages: tuple[Message, ...]
    changed: tuple[int, ...]
    input_text: str  #: the user's input, as it is now


def conversation(messages: tuple[Message, ...], words: RerunChanges, input_text: str) -> ChangedConversation:
    """The messages with the texts that are said otherwise. Raises `ValidationError` in words, by place."""
    errors = {
        f"message_{place}": fault
        for place, text in words.messages.items()
        if (fault := _fault(messages, place, text)) is not None
    }
    if errors:
        raise ValidationError(errors)
    new = {place: storable_text(text) for place, text in words.messages.items() if messages[place - 1].text != text}
    told = tuple(
        replace(message, text=new[place], echo=None) if place in new else message
        for place, message in enumerate(messages, start=1)
    )
    asked = [place for place, was in enumerate(messages, start=1) if was.role is Role.USER and was.text == input_text]
    return ChangedConversation(told, tuple(sorted(new)), new.get(asked[0], input_text) if asked else input_text)


def _fault(messages: tuple[Message, ...], place: int, text: str) -> str | None:
    if not 1 <= place <= len(messages):
        return f"The conversation has messages 1 to {len(messages)} here, not {place}."
    if messages[place - 1].role is Role.USER and not text.strip():
        return f"Message {place} is from the user and must not be empty."
    return f"Message {place} has more than {MAX_INPUT_CHARS:,} characters." if len(text) > MAX_INPUT_CHARS else None


def supplied(snapshot: Snapshot, words: RerunChanges) -> tuple[ToolResult, ...]:
    """The results that stand in place of running tools, with those an operator gave before."""
    if words.results and snapshot.state is not State.EXECUTE_TOOLS:
        raise ValidationError({"results": "A tool result can only be given at a point where its call is about to run."})
    calls = {call.id: call for call in snapshot.calls}
    unknown = next((call_id for call_id in words.results if call_id not in calls), None)
    if unknown is not None:
        raise ValidationError({"results": f"There is no call {quoted(unknown)} here; the calls are {listed(calls)}."})
    given = tuple(
        ToolResult(call_id, calls[call_id].name, storable_text(content)) for call_id, content in words.results.items()
    )
    return (*(result for result in snapshot.supplied if result.call_id not in words.results), *given)


def connection_asked(turn: Turn, name: str | None, *, gone: str) -> Connection:
    """The connection named, or the one the turn itself asked: its own, or its agent's."""
    own = connection_of(turn)
    if turn.agent is None and own is None:
        raise ValidationError(gone)
    standing = turn.overrides.get("connection") or (own.name if own else "")
    wanted = name or standing
    if own is not None and wanted == own.name:
        return own
    there = connection_list(project=turn.project)
    found = there.filter(name=wanted).first()
    if found is None:
        names = listed(there.order_by("name").values_list("name", flat=True))
        raise ValidationError({"connection": f"There is no connection {quoted(wanted)}; there are {names}."})
    return found


def said_at(setup: Setup, connection: Connection) -> Setup:
    """What is asked, as this connection is asked it now: the connection's settings, and beside them all that the
    caller asked for."""
    return replace(
        setup,
        provider=connection.provider,
        ceiling=connection.max_output_tokens,
        context_window=connection.context_window,
        output_floor=get_provider(connection.provider).output_floor,
        extra=settings_of(connection) | callers_part(setup, connection.provider),
    )


def callers_part(setup: Setup, provider: str) -> dict[str, Any]:
    """What the caller of a turn asked for in words of its provider's dialect. Another dialect has other words."""
    unset = cap_note(setup, provider)
    if setup.provider != provider:
        return dict(unset)
    own = OF_CALLER | {CAP_NAME} if setup.client_tools else OF_CALLER
    kept = {name: value for name, value in setup.extra.items() if name not in SETTINGS or name in own}
    # Other values say that a limit is stated which was not sent, or perhaps not: it is sent from now on.
    return kept | unset


def left_out(setup: Setup, provider: str) -> list[str]:
    """What the caller asked for beside the conversation, its tools and its cap, and what a provider of another dialect
    is not asked for, by name."""
    asked = callers_part(setup, setup.provider)
    said = {**asked, **mapping(asked.get(FIRST_CALL)), **mapping(asked.get(HEADERS))}
    return [] if setup.provider == provider else sorted(said.keys() - NOT_ASKED)
