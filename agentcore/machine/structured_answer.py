"""What a structured answer came to: refused, cut, or its text read by the policy's rules (design §3.7)."""

from agentcore.continuation_merge import join
from agentcore.envelope import EnvelopeFault, EnvelopeReading, read_envelope
from agentcore.machine.accounting import joining
from agentcore.machine.classify import word_of
from agentcore.messages import ChatResponse
from agentcore.policy import EnvelopeRules, Policy, RecoveryPath
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.values import replace

_NEVER_CLEAN = (
    NormalizedStopReason.MAX_TOKENS,
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
    NormalizedStopReason.CANCELLED,
)

_CUT = (NormalizedStopReason.MAX_TOKENS, NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED)


def read_answer(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> tuple[EnvelopeReading, str]:
    """What the answer came to, and its text: the attempt's own, or with what was said before a pause or a repair."""
    text = response.text
    if response.stop_reason is NormalizedStopReason.SAFETY_BLOCKED:
        return EnvelopeReading(EnvelopeFault.REFUSAL), text
    if snapshot.asked.any_json and response.stop_reason in _CUT and (whole := _whole(snapshot, text, policy)):
        return whole, text
    if response.stop_reason in _NEVER_CLEAN:
        return EnvelopeReading(EnvelopeFault.TRUNCATION), text
    clean = response.stop_reason is not NormalizedStopReason.UNKNOWN and word_of(response) != "stop_sequence"
    texts = dict.fromkeys((text, _with_what_was_said(snapshot, text, policy)))
    readings = [(_judged(snapshot, one, policy, clean=clean), one) for one in texts]
    return min(readings, key=lambda read: _doubts(read[0]))


def _whole(snapshot: Snapshot, text: str, policy: Policy) -> EnvelopeReading | None:
    """The reading of a cut answer that asked for any JSON, where all of it is there: after the last bracket of a JSON
    text nothing can follow. Half an answer is never made a whole one, so only the text as it is counts."""
    reading = _judged(snapshot, text, replace(policy, repair=None, envelope=EnvelopeRules(())), clean=True)
    payload = reading.payload
    if reading.fault is not None or payload is None or not isinstance(payload.value, dict | list):
        return None
    return replace(reading, cut=True)


def _doubts(reading: EnvelopeReading) -> int:
    """Which of two readings to take: a valid one before an invalid, what was found directly before a recovery."""
    if reading.payload is None:
        return 3
    direct = reading.payload.path is RecoveryPath.DIRECT
    return 2 if reading.fault is not None else 0 if direct else 1


def _judged(snapshot: Snapshot, text: str, policy: Policy, *, clean: bool) -> EnvelopeReading:
    """The reading of a text. What is given to us to validate or repair with may raise; then there is nothing to accept
    and nothing to ask for again."""
    schema = snapshot.asked.envelope_schema
    assert schema is not None, "an envelope turn has a schema"
    try:
        return read_envelope(text, schema, policy, clean=clean)
    except Exception as error:
        return EnvelopeReading(EnvelopeFault.UNKNOWN, problem=type(error).__name__)


def _with_what_was_said(snapshot: Snapshot, text: str, policy: Policy) -> str:
    call = snapshot.call
    assert call is not None, "the answer was called for"
    if call.hint is not None:
        return join(snapshot.answer.text, text, joining(snapshot, policy.min_overlap)).text
    return "".join(message.text for message in call.echo) + text
