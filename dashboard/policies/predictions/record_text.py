"""The track record in words. Shares are shown from twenty comparisons on, counts below."""

import math
from collections.abc import Mapping
from typing import Any

from agentcore.number_format import percent
from agentcore.policy import LIMIT_NAMES
from agentcore.replay import Certainty
from dashboard.agents.limit_fields import amount
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.predictions.selectors import Tally
from dashboard.policies.suggestions.suggestion import Basis, Goal
from dashboard.turns.reason_looks import reason_label

ENOUGH = 20  #: comparisons from which on a share says something

NAMES: Mapping[str, str] = {
    "status": "status",
    "stop_reason": "stop reason",
    "terminal_reason": "terminal reason",
    "attempts": "calls",
    "text": "text",
}
REASONS: Mapping[str, str] = {
    Prediction.Reason.PROVIDER_FAILED: "The provider failed: a call failed that had not failed in the recording.",
    Prediction.Reason.PROVIDER_DIFFERS: "The provider's answers vary: called again under the recorded policy, it "
    "gave another answer.",
    Prediction.Reason.DEFECT: "Called again under the recorded policy, the provider gave the recorded answer. "
    "So either Whystop was wrong, or the provider answers differently under other limits.",
    Prediction.Reason.ASSUMPTION: "An assumption of the estimate did not hold.",
}
OF_A_RETRY = "Something else ended the turn before the call was tried again."
OF_A_RERUN = "The re-run differed from the earlier one."
#: An answer's tokens are also those of its end, which some providers leave out.
OF_A_LENGTH = "The answer was not that of the earlier re-run, or its end took more tokens than the provider reports."
UNKNOWN = "The reason is not known yet. To find out, re-run the turn under the recorded policy."
NO_REASON = "The turn ended in neither of the two ways."
NOT_COMPARED: Mapping[str, str] = {
    Prediction.NotCompared.CANCELLED: "cancelled",
    Prediction.NotCompared.INTERRUPTED: "interrupted",
    Prediction.NotCompared.OPERATOR: "changed by an operator",
    Prediction.NotCompared.UNANSWERED: "the provider answered no call",
    Prediction.NotCompared.NOTHING_PREDICTED: "no ending was predicted",
}
#: What a suggested limit predicts.
GOALS: Mapping[str, str] = {
    Goal.FINISH: "completed",
    Goal.ONE_CALL: "completed in one call",
    Goal.NO_REPAIR: "completed without a truncated tool call",
    Goal.RETRY: "the call tried again",
}
#: The predictions of a certainty, as the subject of a sentence.
SUBJECTS: Mapping[Certainty, str] = {
    Certainty.RECORDED: "“Recorded” what-ifs",
    Certainty.CERTAIN: "“Certain” what-ifs",
    Certainty.ESTIMATED: "“Likely” what-ifs",
    Certainty.UNDECIDABLE: "What-ifs that name two possible endings",
}


def share(came_true: int, compared: int) -> str:
    """`90 %`; empty where so few were compared that it would say nothing. Never 100 % of fewer than all."""
    if compared < ENOUGH:
        return ""
    return percent(math.floor(100 * came_true / compared) / 100)


def came_true_words(tally: Tally) -> str:
    """`37 of 41`."""
    return f"{tally.came_true:,} of {tally.compared:,}"


def record_words(tally: Tally) -> str:
    """`“Likely” what-ifs for this model came true 37 of 41 times (90 %).`"""
    subject = SUBJECTS[tally.certainty]
    if not tally.compared:
        return f"{subject} for this model have not been compared with live re-runs yet."
    told = share(tally.came_true, tally.compared)
    return f"{subject} for this model came true {came_true_words(tally)} times{f' ({told})' if told else ''}."


def difference_words(difference: Mapping[str, Any]) -> str:
    """`terminal reason: predicted completed, was continuation or retry limit`."""
    name = NAMES.get(difference["field"], difference["field"])
    if difference["field"] == "text":
        return "text: not the predicted one"
    predicted, actual = (reason_label(difference[which] or "none") for which in ("predicted", "actual"))
    return f"{name}: predicted {predicted}, was {actual}"


def suggested_reason_words(prediction: Prediction) -> str:
    """Why a suggested limit was not enough, as far as that can be told."""
    said, reason = prediction.suggested, prediction.suggested_reason
    if reason and said["goal"] == Goal.RETRY:
        return OF_A_RETRY
    if reason == Prediction.Reason.ASSUMPTION and said["share"]:
        return f"By the estimate, {percent(1 - said['share'])} of {_counted(said)} need more."
    if reason == Prediction.Reason.ASSUMPTION and said["basis"] == Basis.RERUN:
        return OF_A_LENGTH if said["limit"] == "max_tokens" else OF_A_RERUN
    return REASONS[reason] if reason else UNKNOWN


def _counted(said: Mapping[str, Any]) -> str:
    """`answers of agent sim-essay longer than 60 tokens`; all of them in a record of before."""
    of_answers, used = said["limit"] == "max_tokens", said.get("longer_than")
    turns = f"{'answers' if of_answers else 'turns'} of {said['basis']} {said['of']}"
    if used is None:
        return turns
    return f"{turns} {'longer' if of_answers else 'that used more'} than {amount(said['limit'], used)}"


def suggested_difference_words(prediction: Prediction) -> str:
    """`suggested Max tokens per call 378: predicted completed, was partial (continuation or retry limit)`"""
    said, actual = prediction.suggested, prediction.actual or {}
    wanted = GOALS[said["goal"]]
    was = f"{reason_label(actual.get('status'))} ({reason_label(actual.get('terminal_reason'))})"
    calls = actual.get("attempts", 0)
    ended = f"completed in {calls} calls" if actual.get("status") == "completed" else was
    return f"suggested {LIMIT_NAMES[said['limit']]} {said['value']:,}: predicted {wanted}, was {ended}"


def reason_words(prediction: Prediction) -> str:
    """Why a prediction failed, as far as that can be told."""
    if prediction.reason:
        return REASONS[prediction.reason]
    return NO_REASON if prediction.certainty == Certainty.UNDECIDABLE else UNKNOWN
