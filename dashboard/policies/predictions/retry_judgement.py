"""Whether a turn did what more retries promise: after as many failures running as the recorded turn had, the call is
tried again."""

from collections.abc import Iterable

from agentcore.error_policy import ErrorHandlingDecision
from agentcore.events import Event, ModelFailed, ModelResponded
from agentcore.machine.snapshot import Snapshot
from agentcore.replay import fold
from agentcore.resource import no_retry_helps
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn


def was_tried_again(child: Turn, events: Iterable[Event], failures: int) -> bool | None:
    """None where the turn is no test: fewer calls failed running, or the last one by an error that is not retried."""
    running = 0
    for event in events:
        if isinstance(event, ModelFailed | ModelResponded) and running >= failures:
            return True
        running = running + 1 if isinstance(event, ModelFailed) else 0 if isinstance(event, ModelResponded) else running
    if running < failures:
        return None
    return False if _is_retried(fold(recording_of(child))[-1].after) else None


def _is_retried(last: Snapshot) -> bool:
    failure = last.failure
    retried = failure is not None and last.error_policy.configured(failure.type) is ErrorHandlingDecision.RETRY
    return retried and not no_retry_helps(last)
