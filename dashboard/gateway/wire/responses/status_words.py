"""Maps the end of a turn to the Responses API's `status` and `incomplete_details`. Pure.

| chat completions would say | `status`     | `incomplete_details.reason` |
|----------------------------|--------------|-----------------------------|
| `stop`                     | `completed`  |                             |
| `tool_calls`               | `completed`  |                             |
| `length`                   | `incomplete` | `max_output_tokens`         |
| `content_filter`           | `incomplete` | `content_filter`            |
"""

from collections.abc import Mapping

from dashboard.gateway.wire.answer_values import EndedTurn
from dashboard.gateway.wire.finish_reasons import FILTERED, LENGTH

COMPLETED, INCOMPLETE, IN_PROGRESS, FAILED = "completed", "incomplete", "in_progress", "failed"
#: Why an answer is incomplete; all others are completed.
REASONS: Mapping[str, str] = {LENGTH: "max_output_tokens", FILTERED: "content_filter"}


def reason_of(ended: EndedTurn) -> str | None:
    """Why it is incomplete; None: it is not."""
    return REASONS.get(ended.said.finish_reason)


def status_of(ended: EndedTurn) -> str:
    return COMPLETED if reason_of(ended) is None else INCOMPLETE


def word_of(ended: EndedTurn) -> str:
    """The word that the caller is told: the status, or what makes it incomplete."""
    return reason_of(ended) or COMPLETED
