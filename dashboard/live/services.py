"""Writes around a running turn: start, cancel, hold, release. Its history is written by its driver alone."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from agentcore import serial
from agentcore.events import Breakpoint, Setup
from agentcore.machine.states import State
from agentcore.messages import Message, Role
from agentcore.providers import get_provider
from agentcore.reasons import StopReason, TurnStatus
from dashboard.accounts.models import User
from dashboard.agents.models import Agent, Connection
from dashboard.agents.policies import policy_for
from dashboard.agents.policy_validation import error_policy_clean, limits_clean, tool_calls_on_truncation_clean
from dashboard.agents.selectors import policy_version_latest
from dashboard.agents.validation import max_tokens_within
from dashboard.live.announcing import announce_created
from dashboard.live.changes import operator_changes
from dashboard.live.models import Signal
from dashboard.tools.selectors import specs_of, wire_name_of
from dashboard.tools.services import documents_add, documents_clean, documents_inherit
from dashboard.turns.fields import storable_text
from dashboard.turns.history import standing_of
from dashboard.turns.models import UNFINISHED, Turn

MAX_INPUT_CHARS = 1_000_000
MAX_MODEL_CHARS = 200
OVERRIDES = ("max_tokens", "limits", "error_policy", "tool_calls_on_truncation", "system_prompt", "model")
ORPHAN_SECONDS = 5


class TurnConflict(Exception):
    """The turn is not where this makes sense; the message says where it is."""


def turn_start(
    *,
    agent: Agent,
    input_text: str,
    overrides: Mapping[str, Any] | None = None,
    breakpoints: Sequence[Mapping[str, Any]] | None = None,
    documents: Sequence[Mapping[str, str]] = (),
    created_by: User | None = None,
    queue: str = "turns",
) -> Turn:
    """Store a turn with its documents `{name, text}`, and queue it.

    Raises `ValidationError`, by field and in words, before anything is stored.
    """
    wanted, text = overrides_clean(overrides or {}, agent.connection), _input_clean(input_text)
    texts = documents_clean(documents)
    turn = _turn_asked(agent, wanted, text)
    turn.breakpoints = [_breakpoint(b) for b in breakpoints or ()]
    turn.created_by = created_by
    with transaction.atomic():
        turn_queue(turn, queue)
        documents_add(turn=turn, documents=texts)
    return turn


def _turn_asked(agent: Agent, overrides: Mapping[str, Any], text: str) -> Turn:
    """A turn of the agent as it stands now, not saved; all that was given is clean."""
    version = policy_version_latest(policy=agent.policy)
    policy = policy_for(version, overrides)
    turn = Turn(
        project=agent.project,
        agent=agent,
        agent_name=agent.name,
        provider=agent.connection.provider,
        model=policy.model or agent.model,
        input_text=text,
        max_tokens=policy.max_tokens or agent.max_tokens,
        policy_version=version,
        policy=serial.to_json(policy),
        overrides=overrides,
    )
    turn.setup = {
        "setup": serial.to_json(setup_of(agent, str(turn.id))),
        "messages": [serial.to_json(Message(Role.USER, text))],
    }
    return turn


def turn_queue(turn: Turn, queue: str = "turns") -> Turn:
    """Save a new turn and queue its job in one transaction."""
    from dashboard.live.tasks import defer_drive

    with transaction.atomic():
        turn.save(force_insert=True)
        documents_inherit(turn=turn)
        defer_drive(turn.id, queue)
        transaction.on_commit(lambda: announce_created(turn.id))
    return turn


def setup_of(agent: Agent, turn_id: str) -> Setup:
    """What the agent asks with, as it stands now."""
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
    )


def settings_of(connection_: Connection) -> dict[str, Any]:
    """What steers the codec. A prefill that is off is left out, as it was before there was one."""
    settings = {"hint_role": connection_.hint_role, "max_tokens_field": connection_.max_tokens_field}
    return settings | ({"prefill": True} if connection_.prefill else {})


def _input_clean(text: str) -> str:
    if not text.strip():
        raise ValidationError({"input": "Say what the agent is to do; an empty prompt is not sent."})
    if len(text) > MAX_INPUT_CHARS:
        raise ValidationError({"input": f"The prompt has {len(text):,} characters; at most {MAX_INPUT_CHARS:,} go."})
    return storable_text(text)


def overrides_clean(given: Mapping[str, Any], connection_: Connection | None) -> dict[str, Any]:
    """A turn's overrides, judged as the agent's and the policy's own fields are. No connection: no ceiling either."""
    unknown = sorted(set(given) - set(OVERRIDES))
    if unknown:
        raise ValidationError({"overrides": f"There is no override “{unknown[0]}”; there are {', '.join(OVERRIDES)}."})
    clean, errors = {}, {}
    for name, value in given.items():
        if value is None:
            continue
        try:
            clean[name] = _override_clean(name, value, connection_)
        except ValidationError as error:
            errors[name] = error
    if errors:
        raise ValidationError(errors)
    return clean


def _override_clean(name: str, value: Any, connection_: Connection | None) -> Any:
    match name:
        case "max_tokens":
            known = (connection_.ceiling, connection_.name) if connection_ else (None, "")
            max_tokens_within(value, ceiling=known[0], connection=known[1])
            return value
        case "limits":
            return limits_clean(value)
        case "error_policy":
            error_policy_clean(value)
            return dict(value)
        case "tool_calls_on_truncation":
            return tool_calls_on_truncation_clean(value)
        case "model":
            return _model_clean(value)
        case _:
            if not isinstance(value, str):
                raise ValidationError("The system prompt must be text.")
            return storable_text(value)


def _model_clean(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_MODEL_CHARS:
        raise ValidationError(f"The model must be a name of 1 to {MAX_MODEL_CHARS} characters.")
    return storable_text(value)


def _breakpoint(given: Mapping[str, Any]) -> dict[str, Any]:
    tool = given.get("tool")
    meant = {**given, "tool": wire_name_of(tool)} if tool else given
    written: dict[str, Any] = serial.to_json(Breakpoint(**meant))
    return written


def turn_cancel(*, turn: Turn, by: str) -> None:
    """Ask the turn's driver to end it; a turn that has ended already is a conflict."""
    _require_unfinished(turn)
    _signal(turn, "cancel", by, {})


def turn_control(
    *,
    turn: Turn,
    by: str,
    action: str,
    limits: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    error_policy: Mapping[str, Any] | None = None,
    request: Mapping[str, Any] | None = None,
    tool_result: Mapping[str, Any] | None = None,
    breakpoints: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Hold, release, step or change a turn, with changes that count from its next judgement on.

    `breakpoints` (clean ones) take the place of those there are; None leaves them.
    """
    _require_unfinished(turn)
    held = turn.status == TurnStatus.HELD
    if action in ("release", "step") and not held:
        raise TurnConflict(f"Only a held turn can be told to {action}; this one is {turn.status}.")
    if action == "hold" and held:
        raise TurnConflict("This turn is held already; release it, or take a step.")
    payload = operator_changes(turn, limits, max_tokens, error_policy, request, tool_result)
    if tool_result:
        _require_call(turn, payload["tool_result"]["call_id"])
    if breakpoints is not None:
        payload["breakpoints"] = [_breakpoint(b) for b in breakpoints]
    _signal(turn, action, by, payload)


def _require_call(turn: Turn, call_id: str) -> None:
    """A result given for a call nobody waits for would be dropped in silence."""
    snapshot = standing_of(turn).snapshot
    if snapshot.state is State.EXECUTE_TOOLS:
        waiting = [call.id for call in snapshot.calls]
    elif snapshot.held_state is State.EVALUATE_STOP and snapshot.response is not None:
        waiting = [call.id for call in snapshot.response.tool_calls]
    else:
        waiting = []
    if call_id not in waiting:
        named = ", ".join(waiting) or "none"
        raise TurnConflict(f"No tool call “{call_id}” waits for its result; those that do: {named}.")


def _require_unfinished(turn: Turn) -> None:
    if turn.status not in UNFINISHED:
        raise TurnConflict(f"This turn has ended already: it is {turn.status}.")


def _signal(turn: Turn, action: str, by: str, payload: Mapping[str, Any]) -> None:
    from dashboard.live.tasks import defer_drive

    with transaction.atomic():
        Signal.objects.create(turn_id=turn.id, action=action, by=by, payload=dict(payload))
        defer_drive(turn.id)


def turn_give_up(*, turn_id: UUID, why: str) -> None:
    """Mark a turn that cannot go on. Its history stays as it is, and what had been said is kept."""
    unfinished = Turn.objects.filter(id=turn_id, status__in=UNFINISHED)
    unfinished.update(
        status=TurnStatus.INTERRUPTED.value,
        stop_reason=StopReason.ERROR.value,
        terminal_reason="interrupted",
        error_code="interrupted",
        error_message=storable_text(why),
        notice="This turn was interrupted and could not go on; what had been said is kept.",
        verdict=f"Interrupted: {storable_text(why)}",
    )


def orphans_requeue() -> int:
    """Queue turns that should be running and have no job at all. Returns how many."""
    from dashboard.live.tasks import defer_drive

    with connection.cursor() as cursor:
        cursor.execute(ORPHANS, [f"{ORPHAN_SECONDS} seconds"])
        orphans = [row[0] for row in cursor.fetchall()]
    for turn_id in orphans:
        defer_drive(turn_id)
    return len(orphans)


#: Turns queued or running for a while, whose job is neither waiting nor being done.
ORPHANS = """
    SELECT turn.id FROM turns_turn turn
     WHERE turn.status IN ('queued', 'running')
       AND turn.created_at < now() - %s::interval
       AND NOT EXISTS (
             SELECT 1 FROM procrastinate_jobs job
              WHERE job.lock = turn.id::text AND job.status IN ('todo', 'doing'))
     LIMIT 100
"""
