"""What an operator changes in a turn that runs."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from agentcore.error_policy import ErrorPolicy
from agentcore.errors import IllegalEvent, WrongInput
from agentcore.events import OperatorActed, OperatorAction, Setup
from agentcore.machine.breakpoints import still_low
from agentcore.machine.pending_tool_calls import refusals, tools_to_approve, with_changed_call
from agentcore.messages import NO_CAP, ChatResponse, Message, TokenUsage
from agentcore.policy import Limits, Policy
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call
from agentcore.states import DECIDING, State
from agentcore.type_check import is_calculable
from agentcore.values import replace

#: What a held turn goes on by.
RELEASING = frozenset({OperatorAction.RELEASE, OperatorAction.STEP, OperatorAction.REFUSE})


def told(event: OperatorActed) -> str:
    """What was done, in words, by whom. What is changed beside it stands in the event."""
    words = [f"{event.by}: {event.action}"]
    words += [f"run to {event.run_to}"] if event.run_to is not None else []
    words += [f"other arguments for call {event.tool_call.call_id}"] if event.tool_call is not None else []
    words += ["an answer in the model's place"] if event.answer is not None else []
    return ", ".join(words)


def operator_changes(snapshot: Snapshot, event: OperatorActed, policy: Policy) -> Snapshot:
    """The snapshot with what the operator changed; it counts from the next judgement and the next call on."""
    _check(snapshot, event)
    changed = _with_numbers(snapshot, event)
    if event.tool_call is not None:
        changed = _approving_still(with_changed_call(changed, event.tool_call, policy), policy)
    if event.answer is not None:
        changed = replace(changed, stand_in=_stand_in(changed, event.answer, event.by))
    if event.action is OperatorAction.REFUSE:
        refused = refusals(changed, event.by)
        ids = tuple(each.call_id for each in refused)
        changed = replace(changed, supplied=(*changed.supplied, *refused), refused=ids, refused_by=event.by)
    return replace(changed, low=still_low(changed)) if changed.low else changed


def _approving_still(snapshot: Snapshot, policy: Policy) -> Snapshot:
    """Arguments that are mended may make a call run that would not have: then it waits for approval as well."""
    if not snapshot.approving or snapshot.held_state is None:
        return snapshot
    return replace(snapshot, approving=tools_to_approve(replace(snapshot, state=snapshot.held_state), policy))


def _check(snapshot: Snapshot, event: OperatorActed) -> None:
    """What no operator may do here. Raises `IllegalEvent`."""
    if event.run_to is not None:
        if event.action is not OperatorAction.RELEASE:
            raise IllegalEvent(f"run_to goes with release, not with {event.action}; nothing has changed.")
        if event.run_to not in DECIDING:
            raise IllegalEvent(f"A turn cannot be run to {event.run_to}; nothing has changed.")
    if event.action is OperatorAction.REFUSE and not snapshot.approving:
        raise IllegalEvent("No call waits for approval here; nothing has changed.")


def _stand_in(snapshot: Snapshot, answer: ChatResponse, by: str) -> ChatResponse:
    """The answer as if the model had given it, marked as somebody's, and for nothing."""
    given = ChatResponse(answer.text, answer.tool_calls, stop_reason=answer.stop_reason, usage=TokenUsage())
    return replace(given, provider=snapshot.asked.provider, model=snapshot.asked.model, answered_by=by)


def _with_numbers(snapshot: Snapshot, event: OperatorActed) -> Snapshot:
    """Limits, policy, the next request, breakpoints, and results in place of tools."""
    if event.max_tokens is not None and not (is_calculable(event.max_tokens) and event.max_tokens >= 1):
        raise IllegalEvent(f"max_tokens cannot be {event.max_tokens!r}; nothing has changed.")
    asked = snapshot.asked.asking(max_tokens=event.max_tokens, model=event.model, system_prompt=event.system_prompt)
    if event.uncapped:
        asked = replace(asked, extra={**asked.extra, "uncapped": NO_CAP})
    call = snapshot.call
    failed = snapshot.state is State.BACKOFF or snapshot.held_state is State.EVALUATE_ERROR
    if event.max_tokens is not None and call is not None and failed:
        call = replace(call, max_tokens=event.max_tokens, bound=None)
    elif call is not None:
        call = _as_sent(call, snapshot.asked, asked)
    return replace(
        snapshot,
        flagged=_flagged(snapshot, event),
        setup=asked,
        call=call,
        limits=_with(snapshot.limits, event.limits, snapshot.revision),
        error_policy=_with(snapshot.error_policy, event.error_policy, snapshot.revision),
        messages=snapshot.messages if event.messages is None else _with_pending_calls(snapshot, event.messages),
        breakpoints=snapshot.breakpoints if event.breakpoints is None else event.breakpoints,
        supplied=snapshot.supplied if event.tool_result is None else (*snapshot.supplied, event.tool_result),
    )


def _as_sent(call: Call, before: Setup, after: Setup) -> Call:
    """The call as it was made: its cap, and whether one is sent, change with the next one, and its answer is judged and
    told by its own."""
    if before.max_tokens != after.max_tokens and call.asked_cap is None:
        call = replace(call, asked_cap=before.max_tokens)
    noted, changed = before.extra.get("uncapped") or "", after.extra.get("uncapped") or ""
    return call if noted == changed or call.sent_uncapped is not None else replace(call, sent_uncapped=str(noted))


def _flagged(snapshot: Snapshot, event: OperatorActed) -> tuple[str, ...]:
    """The signs, with that of an answer whose calls did not all ask for the same: one call would not have said it."""
    changes = (event.messages, event.model, event.system_prompt) != (None, None, None)
    changes = changes or (event.max_tokens is not None and snapshot.known_cap is None)  # the first that is known
    if not (changes and snapshot.spent.attempts) or "request_changed" in snapshot.flagged:
        return snapshot.flagged
    return (*snapshot.flagged, "request_changed")


def _with_pending_calls(snapshot: Snapshot, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Another history. While tools run, the message that called them stays last: results need their calls."""
    if snapshot.state is not State.EXECUTE_TOOLS:
        return messages
    pending = snapshot.messages[-1]
    return messages if messages[-1:] and messages[-1].tool_calls == pending.tool_calls else (*messages, pending)


_Numbers = TypeVar("_Numbers", Limits, ErrorPolicy)
#: The rules from which on an operator's numbers are judged as those of a policy are. Before, any number of at least 0
#: was taken, and turns have run under such ones.
_JUDGED_SINCE = 8


def _odd(numbers: Limits | ErrorPolicy, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that are numbers by the earlier rules, whole or not, and however large."""
    known = {each.name for each in fields(numbers) if not each.name.startswith("on_")}
    return {name: value for name, value in changes.items() if name in known and is_calculable(value) and value >= 0}


def _with(numbers: _Numbers, changes: Mapping[str, Any], revision: int | None) -> _Numbers:
    """The limits, or the error policy, with these changes alone judged: what was stored earlier stands. Decisions come
    as words from a stored event, as members from a live one."""
    odd = _odd(numbers, changes) if (revision or 0) < _JUDGED_SINCE else {}
    try:
        judged = replace(type(numbers)(**{name: value for name, value in changes.items() if name not in odd}), **odd)
    except WrongInput as error:
        raise IllegalEvent(f"{str(error).rstrip('.')}; nothing has changed.") from error
    return replace(numbers, **{name: getattr(judged, name) for name in changes})
