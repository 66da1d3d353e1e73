"""What an operator changes in a turn that runs."""

from collections.abc import Mapping
from typing import Any

from agentcore.error_policy import ErrorHandlingDecision, ErrorPolicy
from agentcore.errors import IllegalEvent
from agentcore.events import OperatorActed
from agentcore.machine.snapshot import Snapshot
from agentcore.machine.states import State
from agentcore.messages import Message
from agentcore.policy import Limits
from agentcore.values import replace

_UNLIMITED = Limits()  # what is None here may be None


def operator_changes(snapshot: Snapshot, event: OperatorActed) -> Snapshot:
    """The snapshot with what the operator changed; it counts from the next judgement and the next call on."""
    if event.max_tokens is not None and not (_is_limit(event.max_tokens) and event.max_tokens >= 1):
        raise IllegalEvent(f"max_tokens cannot be {event.max_tokens!r}; nothing has changed.")
    asked = snapshot.asked.asking(max_tokens=event.max_tokens, model=event.model, system_prompt=event.system_prompt)
    call = snapshot.call
    failed = snapshot.state is State.BACKOFF or snapshot.held_state is State.EVALUATE_ERROR
    if event.max_tokens is not None and call is not None and failed:
        call = replace(call, max_tokens=event.max_tokens)
    return replace(
        snapshot,
        setup=asked,
        call=call,
        limits=_limits_with(snapshot.limits, event.limits),
        error_policy=_error_policy_with(snapshot.error_policy, event.error_policy),
        messages=snapshot.messages if event.messages is None else _with_pending_calls(snapshot, event.messages),
        breakpoints=snapshot.breakpoints if event.breakpoints is None else event.breakpoints,
        supplied=snapshot.supplied if event.tool_result is None else (*snapshot.supplied, event.tool_result),
    )


def _with_pending_calls(snapshot: Snapshot, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Another history. While tools run, the message that called them stays last: results need their calls."""
    if snapshot.state is not State.EXECUTE_TOOLS:
        return messages
    pending = snapshot.messages[-1]
    return messages if messages[-1:] and messages[-1].tool_calls == pending.tool_calls else (*messages, pending)


def _limits_with(limits: Limits, changes: Mapping[str, Any]) -> Limits:
    try:
        changed = replace(limits, **changes)
    except TypeError as error:
        raise IllegalEvent(f"These are not limits: {error}; nothing has changed.") from error
    for name, value in changes.items():
        if not _is_limit(value) and not (value is None and getattr(_UNLIMITED, name) is None):
            raise IllegalEvent(f"These are not limits: {name} is {value!r}; nothing has changed.")
    return changed


def _is_limit(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _error_policy_with(policy: ErrorPolicy, changes: Mapping[str, Any]) -> ErrorPolicy:
    """Decisions come as words from a stored event, as members from a live one; both must judge the same."""
    try:
        words = {key: ErrorHandlingDecision(item) for key, item in changes.items() if key != "max_retries"}
        max_retries: int = changes.get("max_retries", policy.max_retries)
        if not isinstance(max_retries, int) or max_retries < 0:
            raise ValueError(f"max_retries is {max_retries!r}")
        return replace(policy, max_retries=max_retries, **words)
    except (TypeError, ValueError) as error:
        raise IllegalEvent(f"This is not an error policy: {error}; nothing has changed.") from error
