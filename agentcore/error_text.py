"""What is said of errors, refusals and stops by a criterion: the notice, the error, and the phrases of a verdict."""

from enum import StrEnum

from agentcore.commands import Finish, StopSentence
from agentcore.evaluation import ContinuationDecision
from agentcore.machine.finish import INCOMPLETE
from agentcore.messages import ChatResponse
from agentcore.number_format import count, number, seconds
from agentcore.policy import limit_in_words
from agentcore.reason_text import criterion_in_words, evaluation_text, wait_text
from agentcore.reasons import REFUSAL_DETAILS, NormalizedStopReason, StopReason
from agentcore.remedies import refused_by_person, unapproved
from agentcore.resource import LIMIT_OF, no_retry_helps, out_of_time, resource_of
from agentcore.snapshot import Snapshot
from agentcore.values import replace

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
    """Who refused in the last answer of the turn; None if it is no refusal, for example if a filter blocked it."""
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


def failed(snapshot: Snapshot, end: Finish) -> str:
    """How the calls failed, why no other was made, and the provider's own words; follows “Failed”."""
    after = _after(snapshot.spent.total_failures, snapshot.spent.attempts)
    if end.stop_reason is StopReason.RETRY_LIMIT and not snapshot.observed and not no_retry_helps(snapshot):
        after += f", with {limit_in_words('max_retries')} {number(snapshot.error_policy.max_retries)}"
    kept = " The partial answer is kept." if snapshot.output_text else ""
    return f"{after}: {_closed(error_text(snapshot) or str(end.error_code))}{_beside_retries(snapshot)}{kept}"


def stopped_in_time(snapshot: Snapshot) -> str:
    """In which call the turn's own time limit ended it; follows “Stopped”."""
    attempts, reason = snapshot.spent.attempts, reason_of_stop(snapshot)
    used = f" ({reason})" if reason else ""
    call = "the first call" if attempts == 1 else f"call {number(attempts)}"
    kept = " The partial answer is kept." if snapshot.output_text else ""
    return f" at {limit_in_words('max_seconds')} during {call}{used}.{kept}"


def _after(failures: int, attempts: int) -> str:
    """`on the first call`, `on call 3`, `after 2 failed calls`."""
    if failures == 1 and attempts:
        return " on the first call" if attempts == 1 else f" on call {number(attempts)}"
    return f" after {count(failures, 'failed call')}" if failures else ""


def _beside_retries(snapshot: Snapshot) -> str:
    """The limit that left no other try, and how much of it was used, as a sentence."""
    outcome = snapshot.outcome
    if outcome is None or (snapshot.end is not None and snapshot.end.sentence is not None):
        return ""  # a wait that is too long has been named
    total = "max_total_completion_tokens"
    limit = total if resource_of(snapshot) == total else LIMIT_OF.get(outcome.resolved_by)
    if limit is None:
        return ""
    return f" It was not retried because {limit_in_words(limit)} was reached ({reason_of_stop(snapshot)})."


def _closed(sentence: str) -> str:
    """A provider's own words, ended as a sentence is."""
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def stop_text(snapshot: Snapshot) -> str:
    """What happened in a turn that a criterion stopped, as a phrase; empty where none did."""
    sentence = snapshot.end.sentence if snapshot.end else None
    return "" if sentence is None else _tidied(sentence).happened(reason_of_stop(snapshot))


def notice_text(snapshot: Snapshot) -> str:
    """What stands beside an incomplete answer; empty where nothing does."""
    end = snapshot.end
    if end is None or not end.notice:
        return ""
    if why := unapproved(snapshot):
        return f"This turn was cancelled: {why}." if snapshot.cancelled_by else f"{INCOMPLETE}{why}."
    if why := refused_by_person(snapshot):
        return f"{INCOMPLETE}{why}."
    if end.terminal_reason == "interrupted":
        why = end.error_message
        return f"This turn was interrupted and cannot continue: {why} The partial answer is kept."
    if out_of_time(snapshot):
        return f"{INCOMPLETE}the time limit of {seconds(snapshot.limits.max_seconds or 0)} was reached."
    if end.sentence is None:
        return _refused(snapshot) or end.notice
    return f"{INCOMPLETE}{error_text(snapshot)}" if end.error_message else _whole(snapshot, end.sentence)


def error_text(snapshot: Snapshot) -> str:
    """The error that ended the turn; empty where none did."""
    end = snapshot.end
    if end is None or not end.error_message or end.sentence is None:
        return end.error_message if end else ""
    if end.terminal_reason == "provider_error":
        return _too_long(snapshot)
    return _whole(snapshot, end.sentence)


def _too_long(snapshot: Snapshot) -> str:
    """An error whose provider asks to wait for longer than any retry may, whatever else forbade one."""
    error = snapshot.failure.provider if snapshot.failure else None
    assert error is not None, "it ended the turn"
    said = snapshot.outcome.get_evaluation_for("ErrorPolicyCriterion") if snapshot.outcome else None
    why = wait_text(error) if said is None else evaluation_text(said.to_dict(), snapshot)
    return f"{_closed(error.message)} Not retried: {why}."


def _whole(snapshot: Snapshot, sentence: StopSentence) -> str:
    return _tidied(sentence).whole(reason_of_stop(snapshot))


def _tidied(sentence: StopSentence) -> StopSentence:
    """In the words that readers see: without the full stop of a message that stands within a sentence of ours, and
    with a criterion's name in place of its class."""
    if sentence.after.endswith(".)") and sentence.ending == ".":
        sentence = replace(sentence, after=f"{sentence.after[:-2]})")
    return replace(sentence, criterion=criterion_in_words(sentence.criterion)) if sentence.criterion else sentence


def reason_of_stop(snapshot: Snapshot) -> str:
    """Why the criterion that forbade did so. Of the error policy: how often what failed, and by which setting; or why
    no retry would have helped. Empty where none did."""
    evaluations = snapshot.outcome.evaluations if snapshot.outcome else ()
    said = next((each for each in evaluations if each.decision is ContinuationDecision.FORBID), None)
    return "" if said is None else evaluation_text(said.to_dict(), snapshot)


#: Who refused to answer, in place of the provider's block.
_REFUSED = {
    Refuser.MODEL: "The model refused to answer.",
    Refuser.CLASSIFIER: "A safety classifier of the provider refused to answer.",
    Refuser.UNTOLD: "The model or a filter of the provider refused to answer.",
}


def _refused(snapshot: Snapshot) -> str:
    """Who refused, of an answer that was; a block reported as an error has the provider's own message."""
    blocked = snapshot.end is not None and snapshot.end.terminal_reason == NormalizedStopReason.SAFETY_BLOCKED
    refuser = refuser_of(snapshot) if blocked and snapshot.failure is None else None
    return "" if refuser is None else _REFUSED[refuser]
