"""The suggested limit that a re-run tries, stored with its prediction, and whether it was enough."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from agentcore.error_policy import ErrorHandlingDecision
from agentcore.events import Event, ModelFailed, ModelResponded
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty, fold
from agentcore.resource import no_retry_helps
from agentcore.snapshot import Snapshot
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.suggestions.relatives import flat, settings_changed
from dashboard.policies.suggestions.repaired_calls import repaired_calls
from dashboard.policies.suggestions.selectors import suggestions_for, tried_in_vain
from dashboard.policies.suggestions.suggestion import Goal, Suggestion
from dashboard.policies.suggestions.suggestion_json import figures
from dashboard.policies.suggestions.suggestion_log import told_lately
from dashboard.policies.suggestions.suggestion_text import promise_word
from dashboard.replay.endings import Ending
from dashboard.turns.end_summary import may_be_cut
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn

CLAIMING = (Certainty.RECORDED.value, Certainty.CERTAIN.value)  #: what must come true


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


def suggested(parent: Turn, child: Turn, given: Suggestion | None = None) -> dict[str, Any] | None:
    """The surest suggestion for the recorded turn that the re-run tries, as it is stored; None where it tries none.

    It tries one that changes this limit alone, to at least the suggested value. `given`: the one it was started from.
    Where none of those that hold now is tried, one that was told lately may be.
    """
    changed = settings_changed(parent, child)
    if not changed:
        return None
    found = (given,) if given is not None else suggestions_for(parent)
    tried = (each for each in chain(found, () if given else _told_before(parent)) if _tries(changed, each))
    said = next(tried, None)
    return None if said is None else _as_json(said, changed[said.limit])


def _told_before(parent: Turn) -> Iterator[Suggestion]:
    """What was told lately, without the values that a re-run has shown to be too small since."""
    if told := told_lately(parent.id):
        in_vain = tried_in_vain(parent)
        yield from (said for said in told if said.value > in_vain.get(said.limit, 0))


def _as_json(said: Suggestion, tried: Any) -> dict[str, Any]:
    return {**figures(said), "of": said.of, "word": promise_word(said), "tried": tried}


def _tries(changed: Mapping[str, Any], said: Suggestion) -> bool:
    wanted = flat(said.overrides)
    return changed.keys() == wanted.keys() and all(_as_much(changed[name], wanted[name]) for name in wanted)


def _as_much(given: Any, wanted: Any) -> bool:
    """Whether a setting is what was suggested, or a number at least as large. None: no limit."""
    if isinstance(wanted, str):
        return bool(given == wanted)
    return given is None or given >= wanted


def judge_suggested(prediction: Prediction, child: Turn, events: Sequence[Event]) -> None:
    """Whether the turn did what was promised. What claims nothing is not judged."""
    said = prediction.suggested
    if not said or said["certainty"] == Certainty.UNDECIDABLE:
        return
    actual = Ending.actual(child, events)
    prediction.suggested_came_true = _came_true(said, actual, child, events)
    if prediction.suggested_came_true is not False:
        return
    if actual.terminal_reason == "provider_error" and said["limit"] != "max_retries":
        prediction.suggested_reason = Prediction.Reason.PROVIDER_FAILED
    elif said["certainty"] == Certainty.ESTIMATED:
        prediction.suggested_reason = Prediction.Reason.ASSUMPTION


def _came_true(said: Mapping[str, Any], actual: Ending, child: Turn, events: Sequence[Event]) -> bool | None:
    """Completed, in one call or without a truncated tool call where that is the goal, or tried again. None: the turn is
    no test of it, such as one whose answer may be cut off."""
    if said["goal"] == Goal.RETRY:
        return was_tried_again(child, events, said["longer_than"])
    if said["goal"] == Goal.NO_REPAIR and repaired_calls(child) is not None:
        return False
    calls = actual.attempts - actual.failures
    came_true = actual.status == TurnStatus.COMPLETED and (said["goal"] != Goal.ONE_CALL or calls == 1)
    return None if came_true and may_be_cut(child) else came_true


def claim_failed(prediction: Prediction) -> bool:
    """Whether a suggestion that was called certain was not enough."""
    return prediction.suggested_came_true is False and (prediction.suggested or {}).get("certainty") in CLAIMING
