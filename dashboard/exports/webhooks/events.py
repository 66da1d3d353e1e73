"""Which events there are, whom they are told, and what is said: the turn as the API tells it, without its texts.

An event is told once its turn has that state still, and only of turns that happened here or were ingested as traces:
who imports old turns tells nobody of them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.exports.webhooks.models import Happened, Webhook
from dashboard.policies.predictions.models import Prediction
from dashboard.turns.api_serializers import turn_json
from dashboard.turns.history import position_of
from dashboard.turns.models import UNFINISHED, Turn

ENDED, APPROVAL, PREDICTION = "turn.ended", "approval.wanted", "prediction.failed"
ALERT_FIRED, ALERT_RESOLVED = "alert.fired", "alert.resolved"
EVENTS: Mapping[str, str] = {
    ENDED: "A turn ended",
    APPROVAL: "A tool call awaits approval",
    PREDICTION: "A prediction failed",
    ALERT_FIRED: "An alert fired",
    ALERT_RESOLVED: "An alert was resolved",
}
TEST = "test"
#: Of a turn, what is not told: its texts stay here, where it can be erased.
UNTOLD = ("output_text", "envelope", "notice")


@dataclass(frozen=True, slots=True)
class Event:
    """What happened, as every webhook is told it. `data`: JSON types, and times."""

    kind: str
    turn: Turn
    data: Mapping[str, Any]


def event_of(happened: Happened, turn: Turn | None, prediction: Prediction | None) -> Event | None:
    """None where there is nothing to tell any more."""
    if turn is None or _is_imported(turn):
        return None
    made = _MAKERS[happened.kind](turn, prediction)
    return None if made is None else Event(made[0], turn, made[1])


def is_for(webhook: Webhook, event: Event) -> bool:
    """Whether this webhook is told of it."""
    turn = event.turn
    asked = (
        (webhook.statuses, turn.status),
        (webhook.stop_reasons, turn.stop_reason),
        (webhook.model_stop_reasons, turn.model_stop_reason),
    )
    return event.kind in webhook.events and (
        event.kind != ENDED or all(not words or word in words for words, word in asked)
    )


def _is_imported(turn: Turn) -> bool:
    ingested = getattr(turn, "ingested", None)
    return getattr(turn, "origin", None) is not None or (ingested is not None and bool(ingested.log))


def _told(turn: Turn) -> dict[str, Any]:
    shown = {name: value for name, value in turn_json(turn).items() if name not in UNTOLD}
    return {"turn": {**shown, "tags": turn.tags}, "path": f"/turns/{turn.id}"}


Made = tuple[str, dict[str, Any]] | None


def _ended(turn: Turn, _: Prediction | None) -> Made:
    return None if turn.status in UNFINISHED else (ENDED, _told(turn))


def _held(turn: Turn, _: Prediction | None) -> Made:
    """Held for an approval; a breakpoint is nobody's business but the operator's."""
    waiting: Iterable[str] = position_of(turn).snapshot.approving if turn.status == "held" else ()
    return (APPROVAL, {**_told(turn), "tools": list(waiting)}) if waiting else None


#: Told of a prediction that failed: it, or the suggested limit that the re-run tried.
SAID = (
    "kind", "certainty", "overrides", "differences", "reason", "suggested", "suggested_came_true", "suggested_reason",
)  # fmt: skip


def _failed(turn: Turn, prediction: Prediction | None) -> Made:
    if prediction is None:
        return None
    said = {name: getattr(prediction, name) for name in SAID}
    ids = {"id": str(prediction.id), "parent_id": str(prediction.parent_id)}
    expected = {"predicted": prediction.endings, "actual": prediction.actual}
    return PREDICTION, {**_told(turn), "prediction": {**ids, **said, **expected}}


_MAKERS: Mapping[str, Callable[[Turn, Prediction | None], Made]] = {
    "turn.ended": _ended,
    "turn.held": _held,
    "prediction.failed": _failed,
}
