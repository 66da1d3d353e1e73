"""Predicts the outcome of a re-run from the recording. Makes no prediction where the requests differ.

The prediction is the what-if of the same overrides from the same beginning, as its page shows it.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from django.core.exceptions import ValidationError

from agentcore import serial
from agentcore.events import OperatorActed
from agentcore.policy import Policy
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty, Recording, WhatIf, beginning, fold, fork
from agentcore.snapshot import Snapshot
from agentcore.values import replace
from dashboard.agents.criteria import criteria_faults
from dashboard.agents.observe_policy import was_watched
from dashboard.agents.policies import stored_policy
from dashboard.policies.backtests.turn_judgement import KEPT
from dashboard.policies.models import ShadowVerdict
from dashboard.policies.predictions.models import Calibration, Prediction
from dashboard.policies.predictions.suggested_limits import suggested
from dashboard.policies.shadow_evaluation import policy_in_shadow
from dashboard.policies.suggestions.relatives import asked_apart, begin_alike
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.replay.endings import Ending, claims_text, was_changed, was_taken_over
from dashboard.replay.services import what_if_of
from dashboard.turns.history import begun_as, recording_of
from dashboard.turns.models import Turn

log = structlog.get_logger(__name__)

#: How a turn must have ended for its recording to predict anything.
TOLD = (TurnStatus.COMPLETED, TurnStatus.PARTIAL, TurnStatus.ABORTED, TurnStatus.FAILED)

Kind = Prediction.Kind


@dataclass(frozen=True, slots=True)
class Purpose:
    """Why a turn is re-run, beside that somebody wants to see it."""

    kind: Prediction.Kind = Kind.RERUN
    queue: str = "turns"
    calibration: Calibration | None = None
    place: int | None = None  #: among the calibration's trials
    checks: Prediction | None = None  #: the prediction that failed
    suggestion: Suggestion | None = None  #: the one that the re-run tries; None: that is found out


RERUN = Purpose()

CHANGED = (
    "This turn cannot be re-run unchanged: its connection or its agent has changed since, so another answer would "
    "prove nothing."
)


def trying(suggestion: Suggestion) -> Purpose:
    """The purpose of a re-run that tries this suggestion."""
    return Purpose(suggestion=suggestion)


def predicted(*, parent: Turn, child: Turn, wanted: Mapping[str, Any], purpose: Purpose = RERUN) -> Prediction | None:
    """What is predicted for a re-run from the start or from a record; not saved. None where there is nothing to say.

    Raises `ValidationError` where that is all the re-run would be for.
    """
    found = _foretold(parent, child, wanted, purpose)
    if found is None and purpose.kind in (Kind.CALIBRATION, Kind.CHECK):
        raise ValidationError(CHANGED)
    return found


def _foretold(parent: Turn, child: Turn, wanted: Mapping[str, Any], purpose: Purpose) -> Prediction | None:
    policy, own = stored_policy(child.policy), stored_policy(parent.policy)
    if parent.status not in TOLD or was_watched(own) or (not purpose.checks and _same_limits(parent, child)):
        return None
    try:
        recording = _recording_for(parent, child)
        if recording is None or _disturbed(recording):
            return None
        if purpose.checks is not None:
            return _check(parent, child, recording, purpose)
        found = what_if_of(recording, policy, parent).recording
    except Exception as error:
        # A recording that cannot be judged again is no reason not to run the turn once more.
        log.warning("prediction_failed", turn=str(parent.id), error=f"{type(error).__name__}: {error}")
        return None
    assert isinstance(found, WhatIf), "a what-if is what was asked for"
    made = replace(purpose, kind=Kind.SHADOW) if _was_shadowed(parent, child, purpose) else purpose
    return _prediction(parent, child, found, wanted, made)


def _suggested(parent: Turn, child: Turn, purpose: Purpose) -> dict[str, Any] | None:
    """A fork tries no suggestion: it has the text that was written under the recorded limit."""
    if child.forked_at:
        return None
    try:
        return suggested(parent, child, purpose.suggestion)
    except Exception as error:
        log.warning("suggestion_failed", turn=str(parent.id), error=f"{type(error).__name__}: {error}")
        return None


def predicted_on(*, parent: Turn, child: Turn, found: Recording, wanted: Mapping[str, Any]) -> Prediction | None:
    """What is predicted for a turn that goes on live from where a what-if was undecidable; not saved."""
    assert isinstance(found, WhatIf), "a what-if is what it goes on from"
    began = None if found.final is None else beginning(found.final, str(child.id))
    if began is None or parent.status not in TOLD or not _same_beginning(began, child):
        return None
    # Not `found`: where it stops in the middle of an answer, it says itself that this was interrupted.
    if _disturbed(recording_of(parent)):
        return None
    own = dataclasses.replace(found, endings=tuple(_rest_of_ending(one, found, began) for one in found.endings))
    return _prediction(parent, child, own, wanted, Purpose(Kind.CONTINUED))


def _rest_of_ending(ending: WhatIf, found: WhatIf, began: Snapshot) -> WhatIf:
    """An ending as the turn reaches it that goes on: without the calls that were made before it began."""
    assert ending.final is not None, "a what-if knows where it ended"
    final = replace(ending.final, inherited=began.inherited)
    return dataclasses.replace(ending, records=ending.records[len(found.records) :], final=final)


def _prediction(parent: Turn, child: Turn, found: WhatIf, wanted: Mapping[str, Any], purpose: Purpose) -> Prediction:
    reached = found.endings if found.certainty is Certainty.UNDECIDABLE else (found,)
    endings = [Ending.of(one, text=claims_text(found.certainty)) for one in reached]
    # Where one of the two ends is open, any ending is possible.
    said = [ending.as_json() for ending in endings if ending is not None] if all(endings) else []
    return Prediction(
        **_about(parent, child, purpose),
        overrides=dict(wanted),
        certainty=found.certainty.value,
        assumes=[serial.to_json(assumption) for assumption in found.assumes],
        endings=said,
        suggested=_suggested(parent, child, purpose),
    )


def _about(parent: Turn, child: Turn, purpose: Purpose) -> dict[str, Any]:
    own = parent.agent.connection.name if parent.agent else ""
    return {
        "project": parent.project,
        "parent": parent,
        "child": child,
        "kind": purpose.kind,
        "provider": child.provider,
        "model": child.model,
        "connection": child.overrides.get("connection", own),
        "from_record": child.forked_at,
        "calibration": purpose.calibration,
        "place": purpose.place,
        "checks": purpose.checks,
        "created_by": child.created_by,
    }


def _check(parent: Turn, child: Turn, recording: Recording, purpose: Purpose) -> Prediction:
    """That the very same comes again: the recorded ending, its text included however it ended. A fork counts what
    follows its record alone."""
    events = [record.event for record in recording.records]
    own = fold(recording)[-1].after.own
    ending = replace(Ending.actual(parent, events), attempts=own.attempts, output_tokens=own.output_tokens)
    about = _about(parent, child, purpose)
    return Prediction(**about, certainty=Certainty.RECORDED.value, endings=[ending.as_json()])


def _disturbed(recording: Recording) -> bool:
    """Whether somebody or something else had a part in how the recorded turn ended."""
    events = [record.event for record in recording.records]
    return was_changed(events) or was_taken_over(events)


def _same_limits(parent: Turn, child: Turn) -> bool:
    """Whether nothing is changed that a what-if could tell of."""
    before, after = (replace(stored_policy(turn.policy), max_tokens=None) for turn in (parent, child))
    return serial.to_json(before) == serial.to_json(after) and parent.max_tokens == child.max_tokens


def _recording_for(parent: Turn, child: Turn) -> Recording | None:
    """What of the parent's recording the child does once more; None where they are not asked the same.

    A fork does the rest of the recording from its record on.
    """
    recording = recording_of(parent)
    own, policy = recording.policy, stored_policy(child.policy)
    if not recording.records or criteria_faults(own):
        return None
    if (policy.model, policy.system_prompt) != (own.model, own.system_prompt):
        return None
    if not child.forked_at:
        alike = begin_alike(begun_as(parent), begun_as(child))
        return recording if parent.base_snapshot is None and alike else None
    seq = child.forked_at
    began = fork(recording, seq, policy, str(child.id))
    if not _same_beginning(began, child):
        return None
    return _rest_of(recording, seq, str(child.id))


def _rest_of(recording: Recording, seq: int, turn_id: str) -> Recording:
    """The recording from record `seq` on, as that of a fork under the same policy which went as the parent did."""
    base = fork(recording, seq, recording.policy, turn_id)
    begun = recording.records[seq - 1].event.at
    rest = [
        replace(one, event=replace(one.event, at=max(0.0, one.event.at - begun))) for one in recording.records[seq:]
    ]
    first = replace(recording.records[0], event=OperatorActed(0.0, "fork"), transitions=(), observed=())
    renumbered = [replace(one, seq=number) for number, one in enumerate((first, *rest), start=1)]
    return Recording(recording.policy, base, tuple(renumbered))


def _same_beginning(began: Snapshot, child: Turn) -> bool:
    """Whether a fork begins where its parent stood, with nothing said otherwise; breakpoints change no answer."""
    one, other = serial.to_json(began), dict(child.base_snapshot or {})
    for each in (one, other):
        each.pop("breakpoints", None)
        each["setup"] = asked_apart(each.get("setup") or {})
    return bool(one == other)


def _was_shadowed(parent: Turn, child: Turn, purpose: Purpose) -> bool:
    """Whether a shadow has tried just this policy on the recorded turn, so that its verdict now comes true or not."""
    if purpose.kind is not Kind.RERUN or child.forked_at:
        return False
    own, ran = stored_policy(parent.policy), serial.to_json(stored_policy(child.policy))
    verdicts = ShadowVerdict.objects.exclude(word=ShadowVerdict.NOT_ENDED).select_related("shadow__version__policy")
    versions = {verdict.shadow.version for verdict in verdicts.filter(turn=parent)}
    return any(_judged_alike(policy_in_shadow(parent, version, own), own, ran) for version in versions)


def _judged_alike(tried: Policy, own: Policy, ran: Mapping[str, Any]) -> bool:
    """Rules of judgement that a turn keeps under any policy are its own."""
    kept = replace(tried, **{name: getattr(own, name) for name in KEPT})
    return bool(serial.to_json(kept) == ran)
