"""Starting a turn: an agent as it stands now, asked with what was given, and queued."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from agentcore import serial
from agentcore.events import Approvals, Breakpoint, Setup
from agentcore.messages import Message, Role
from agentcore.providers import get_provider
from agentcore.providers.wire.request_messages import AFTER_MARKS, SPACE
from dashboard.accounts.models import User
from dashboard.agents.models import Agent, Connection
from dashboard.agents.policy_layers import effective_policy_for
from dashboard.live import conversation_queue
from dashboard.live.jobs import defer_drive
from dashboard.live.turn_overrides import overrides_clean
from dashboard.platform.fields import storable_text
from dashboard.platform.notifications import announce_created
from dashboard.tools.selectors import specs_of, wire_name_of
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Turn
from dashboard.turns.turn_documents import documents_add, documents_clean, documents_inherit

MAX_INPUT_CHARS = 1_000_000


def turn_start(
    *,
    agent: Agent,
    input_text: str,
    overrides: Mapping[str, Any] | None = None,
    breakpoints: Sequence[Mapping[str, Any]] | None = None,
    documents: Sequence[Mapping[str, str]] = (),
    created_by: User | None = None,
    queue: str = "turns",
    conversation: Conversation | None = None,
) -> Turn:
    """Store a turn with its documents `{name, text}`, and queue it; one of a conversation begins in its turn.

    Raises `ValidationError`, by field and in words, before anything is stored.
    """
    wanted, text = overrides_clean(overrides or {}, agent.connection), _input_clean(input_text)
    texts = documents_clean(documents)
    turn = _turn_asked(agent, wanted, text)
    turn.breakpoints = [breakpoint_stored(b) for b in (*agent.breakpoints, *(breakpoints or ()))]
    turn.created_by = created_by
    with transaction.atomic():
        if conversation is not None:
            conversation_queue.join(turn, conversation)
        turn_queue(turn, queue)
        documents_add(turn=turn, documents=texts)
    return turn


def _turn_asked(agent: Agent, overrides: Mapping[str, Any], text: str) -> Turn:
    """A turn of the agent as it stands now, not saved; all that was given is clean."""
    standing = effective_policy_for(agent, overrides)
    policy = standing.policy
    turn = Turn(
        project=agent.project,
        agent=agent,
        agent_name=agent.name,
        provider=agent.connection.provider,
        model=policy.model or agent.model,
        input_text=text,
        max_tokens=policy.max_tokens or agent.max_tokens,
        policy_version=standing.version,
        policy=serial.to_json(policy),
        policy_sources=standing.resolved.stored(),
        keep_raw_days=standing.keep_raw_days,
        overrides=overrides,
    )
    turn.setup = {
        "setup": serial.to_json(setup_of(agent, str(turn.id))),
        "messages": [serial.to_json(Message(Role.USER, text))],
    }
    return turn


def turn_queue(turn: Turn, queue: str = "turns") -> Turn:
    """Save a new turn and queue its job in one transaction; who waits in line is queued by who goes before."""
    with transaction.atomic():
        turn.save(force_insert=True)
        documents_inherit(turn=turn)
        if not conversation_queue.waits(turn):
            defer_drive(turn.id, queue)
        transaction.on_commit(lambda: announce_created(turn.id))
    return turn


def setup_of(agent: Agent, turn_id: str) -> Setup:
    """The agent's current request settings."""
    connection_ = agent.connection
    return Setup(
        turn_id=turn_id,
        provider=connection_.provider,
        model=agent.model,
        max_tokens=agent.max_tokens,
        system_prompt=agent.system_prompt,
        tools=specs_of(agent.tools, project_id=agent.project_id),
        envelope_schema=agent.envelope_schema,
        ceiling=connection_.max_output_tokens,
        context_window=connection_.context_window,
        output_floor=get_provider(connection_.provider).output_floor,
        extra=settings_of(connection_),
        approvals=_approvals_of(agent),
    )


def _approvals_of(agent: Agent) -> Approvals | None:
    """The tools a person must approve of, by the names the model knows."""
    given = agent.approvals
    return None if not given else Approvals(**{**given, "tools": tuple(map(wire_name_of, given["tools"]))})


def settings_of(connection_: Connection) -> dict[str, Any]:
    """The settings of the codec."""
    settings: dict[str, Any] = {"hint_role": connection_.hint_role, "max_tokens_field": connection_.max_tokens_field}
    return settings | (connection_.continuing or {SPACE: AFTER_MARKS})


def _input_clean(text: str) -> str:
    if not text.strip():
        raise ValidationError({"input": "Enter a prompt; it must not be empty."})
    if len(text) > MAX_INPUT_CHARS:
        raise ValidationError(
            {"input": f"The prompt has {len(text):,} characters; the maximum is {MAX_INPUT_CHARS:,}."}
        )
    return storable_text(text)


def breakpoint_stored(given: Mapping[str, Any]) -> dict[str, Any]:
    """As histories keep it: its tool by the name the model knows."""
    tool = given.get("tool")
    meant = {**given, "tool": wire_name_of(tool)} if tool else given
    written: dict[str, Any] = serial.to_json(Breakpoint(**meant))
    return written
