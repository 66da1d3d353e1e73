"""Who refused to answer, as far as the answer shows it: the model in its own words, or a classifier of the provider."""

from enum import StrEnum

from agentcore.machine.snapshot import Snapshot
from agentcore.messages import ChatResponse
from agentcore.reasons import REFUSAL_DETAILS

_REFUSAL = "refusal"  #: the word for a refusal that does not say whose it is
#: Words of providers that block nothing: an answer with a refusal and one of these is the model's own refusal.
_NO_BLOCK = frozenset({"", "stop", "completed", "end_turn"})
#: What stands in place of a refusal's words in answers that were stored before `REFUSAL_DETAILS` stood in the trail.
_CATEGORIES = frozenset({"cyber", "bio", "frontier_llm", "reasoning_extraction", "general_harms"})
_ONLY_DETAILS = frozenset({"anthropic"})  #: dialects whose refusals have no words of the model


class Refuser(StrEnum):
    """Whose refusal an answer is."""

    MODEL = "model"  #: its own words of refusal, in a field of their own
    CLASSIFIER = "classifier"  #: the provider's: it names a category, or nothing was generated
    UNTOLD = "untold"  #: one of them; the answer does not tell which


def refuser_of(snapshot: Snapshot) -> Refuser | None:
    """Whose refusal the last answer is; None where it is none, such as one that a filter blocked."""
    word, response = (snapshot.raw_stop_reason or "").strip().lower(), snapshot.response
    refused = response is not None and response.refusal is not None
    if refused and word in _NO_BLOCK:
        return Refuser.MODEL
    if word != _REFUSAL:
        return None
    return Refuser.UNTOLD if response is None else _by_its_parts(response)


def _by_its_parts(response: ChatResponse) -> Refuser:
    if response.refusal and response.refusal not in _CATEGORIES and response.provider not in _ONLY_DETAILS:
        return Refuser.MODEL
    named = response.refusal in _CATEGORIES or any(seen.source == REFUSAL_DETAILS for seen in response.reason_trail)
    return Refuser.CLASSIFIER if named or _was_not_generated(response) else Refuser.UNTOLD


def _was_not_generated(response: ChatResponse) -> bool:
    """Whether nothing was said, and it is reported to have cost nothing: it was refused before it began."""
    said = response.text or response.reasoning_content or response.tool_calls or response.broken_tool_calls
    return not said and response.usage is not None and response.usage.output_tokens == 0
