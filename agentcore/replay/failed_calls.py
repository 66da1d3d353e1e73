"""Recorded calls that failed: by whom, and what is not known of them."""

from agentcore.events import ModelFailed
from agentcore.machine.answer_classification import response_error
from agentcore.replay.certainty import Why
from agentcore.replay.recorded_calls import SLACK, RecordedCall


def own_timeout(heard: RecordedCall) -> bool:
    """Whether the call was given up at the recorded time limit, not by the provider."""
    left = heard.before.seconds_left
    return isinstance(heard.event, ModelFailed) and left is not None and heard.seconds + SLACK >= left


def broke_off(heard: RecordedCall) -> Why:
    """Why nobody knows how this call would have continued."""
    return Why.TIMED_OUT if own_timeout(heard) else Why.FAILED_CALL


def failing(heard: RecordedCall) -> bool:
    """Whether no answer came, or one with an error in it."""
    return heard.failed or (heard.response is not None and response_error(heard.response) is not None)
