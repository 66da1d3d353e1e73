"""How the last model call of each connection ended, as it was recorded: a check that sends nothing cannot know it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from dashboard.live.turn_loader import connection_of
from dashboard.runtime.operations.doctor import State
from dashboard.turns.models import Attempt, Turn

_SINCE = timedelta(days=1)
_LOOKED_AT = 500  #: of the newest calls, of all connections
_LONGEST = 200  #: letters of a provider's message
_WAIT = "If it happens again, ask the provider."
#: By kind of error (`agentcore.errors.ProviderError`): how bad it is, and what to do. Other kinds are faults of one
#: request, and say nothing about the connection.
_FAILURES: Mapping[str, tuple[State, str]] = {
    "auth": (State.ERROR, "Correct {key}, then start Whystop again."),
    "quota": (State.ERROR, "Add credit or raise the limit at the provider."),
    "rate_limit": (State.WARNING, "Set lower limits of calls in the connection, or ask the provider for higher ones."),
    **dict.fromkeys(("timeout", "connection", "server", "overloaded", "unavailable"), (State.WARNING, _WAIT)),
}


class FailedCall(NamedTuple):
    """One that failed at the provider, or on the way there. `fix` has a place for the `{key}`."""

    state: State
    words: str
    fix: str


def failed_last_calls() -> Mapping[UUID, FailedCall]:
    """By the connection's id: the newest call within a day, where it failed and no request is to blame."""
    fields = ("turn_id", "index", "started_at", "error", "request_url", "response_headers")
    ended = Attempt.objects.filter(started_at__gte=datetime.now(UTC) - _SINCE, duration_ms__isnull=False)
    newest = [call for call in ended.only(*fields).order_by("-turn_id", "-index")[:_LOOKED_AT] if not call.answered_by]
    turns = Turn.objects.select_related("agent__connection").in_bulk({call.turn_id for call in newest})
    # One call for each caller and address is enough: whom a turn asks is read for each.
    by_caller = {
        (turn.project_id, turn.agent_name, call.request_url): (call, turn)
        for call in sorted(newest, key=lambda call: call.started_at)
        if (turn := turns.get(call.turn_id)) and not turn.out_of_time  # a turn's own time limit blames no provider
    }
    last: dict[UUID, Attempt] = {}
    for call, turn in sorted(by_caller.values(), key=lambda one: one[0].started_at):
        connection = connection_of(turn)
        if connection and call.request_url.startswith(connection.base_url):  # which may have been changed since
            last[connection.pk] = call
    return {pk: failed for pk, call in last.items() if (failed := _failed(call))}


def _failed(call: Attempt) -> FailedCall | None:
    error = call.error or {}
    if error.get("kind") not in _FAILURES:
        return None
    state, fix = _FAILURES[error["kind"]]
    said = str(error.get("message", "")).strip().partition("\n")[0][:_LONGEST].rstrip(".")
    status = f" with {error['status']}" if error.get("status") else ""
    return FailedCall(state, f"its last call, at {call.started_at:%Y-%m-%d %H:%M} UTC, failed{status}: {said}", fix)
