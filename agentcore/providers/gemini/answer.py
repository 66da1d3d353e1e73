"""One answer of generateContent, gathered from its chunks or its whole body by the same rules.

Also holds Google's errors: `{"error": {"code", "message", "status", "details"}}`, now and then alone in an array.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentcore.errors import ProviderError
from agentcore.messages import ChatResponse, Delta, TokenUsage
from agentcore.providers.gemini.parts import PartCollector
from agentcore.providers.gemini.stop_reasons import name_of, normalize
from agentcore.providers.wire import error_objects
from agentcore.providers.wire.error_objects import error_inside
from agentcore.providers.wire.reason_tracker import fold
from agentcore.providers.wire.response_assembly import (
    Evidence,
    Parts,
    echoable,
    has_cut_call,
    with_malformed_call,
    without_word_for_calls,
)
from agentcore.providers.wire.untrusted_json import count, mapping, sequence, string, word
from agentcore.reasons import MALFORMED_CALL_WORDS, NormalizedStopReason


def find_error(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The error of a payload in the words of the shared judgement: its status as the code, its reason as the type."""
    error = error_objects.find_error(payload)
    if error is None:
        return None
    details = [mapping(detail) for detail in sequence(error.get("details"))]
    reason = next((string(detail.get("reason")) for detail in details if string(detail.get("reason"))), "")
    spent = any("perday" in quota.lower() for detail in details for quota in _quotas(detail))
    return {
        "code": string(error.get("status")) or error.get("code"),
        "type": "insufficient_quota" if spent else reason,
        "status_code": error.get("code"),
        "message": error.get("message"),
        "details": error.get("details"),
    }


def decode_error(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """What a failed call means. A quota counted per day does not heal while a turn waits."""
    return error_objects.decode_error(status, headers, body, find_error)


def _quotas(detail: Mapping[str, Any]) -> Iterator[str]:
    for violation in sequence(detail.get("violations")):
        yield string(mapping(violation).get("quotaId"))


_DIALECT_KEYS = frozenset({"candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"})
_CONTINUATION = "continuation"


class Answer:
    """Collects one answer. `max_tokens` is the cap that was asked for, where known: evidence for truncation."""

    noun = "Gemini answer"
    ended = False  # it has no closing event

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        self._evidence = Evidence(provider, max_tokens)
        self._parts = PartCollector()
        self._counts: dict[str, int] = {}
        self._candidate: int | None = None  # the index of the one candidate that is read
        self._says_none = False
        self._finish_message = self._block_message = self._token = ""

    def is_dialect(self, payload: Mapping[str, Any], /) -> bool:
        """Whether an object can be a chunk, an answer or an error of this dialect."""
        return not _DIALECT_KEYS.isdisjoint(payload) or find_error(payload) is not None

    def take(self, payload: Mapping[str, Any], /, *, whole: bool) -> Delta | None:  # noqa: ARG002
        """Adds a chunk, which a whole body is too; returns what is new of it to show."""
        evidence = self._evidence
        evidence.response_id = evidence.response_id or string(payload.get("responseId"))
        evidence.model = evidence.model or string(payload.get("modelVersion"))
        self._take_usage(mapping(payload.get("usageMetadata")))
        error = find_error(payload)
        if error is not None:
            evidence.take_error(error_inside(error))
        self._take_block(mapping(payload.get("promptFeedback")))
        self._says_none = self._candidate is None and payload.get("candidates") == []
        ours = next((c for c in map(mapping, sequence(payload.get("candidates"))) if self._is_ours(c)), None)
        return self._take_candidate(ours) if ours else None

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:
        """The answer so far. `closed`: its end was seen; `cut_body`: it is one JSON body that ends too early."""
        evidence = self._evidence
        if self._candidate is None:
            evidence.miss("candidates")
        # An empty list of candidates is an end, in a stream that has no other sign of one.
        broke_off = evidence.broke_off(closed=closed or self._says_none, cut_body=cut_body)
        calls = self._parts.calls(cut=broke_off or evidence.reasons.saw_cut, at_cap=evidence.at_cap)
        if self._says_malformed_call():
            calls = with_malformed_call(calls, self._finish_message)
        if evidence.at_cap and (broke_off or has_cut_call(calls)):
            evidence.reasons.sign("usage", NormalizedStopReason.MAX_TOKENS)
        parts = Parts(self._parts.text, self._parts.reasoning, self._block_message, calls)
        response = without_word_for_calls(evidence.settle(parts, broke_off=broke_off))
        if self._parts.has_other:
            kept = tuple(code for code in response.diagnostics if code != "empty_output")
            response = replace(response, diagnostics=kept)
        blocked = response.stop_reason is NormalizedStopReason.SAFETY_BLOCKED
        return replace(
            response,
            refusal=response.refusal or (self._finish_message if blocked else "") or None,
            resume_token=self._resume_token(broke_off=broke_off),
            echo=echoable(response, self._parts.echo(calls) if not response.broken_tool_calls else None),
        )

    def _says_malformed_call(self) -> bool:
        """Whether a call was dropped because the model wrote it badly, said as a word or as its number."""
        trail = self._evidence.reasons.trail
        return any(fold(name_of(seen.raw or "")) in MALFORMED_CALL_WORDS for seen in trail)

    def _resume_token(self, *, broke_off: bool) -> str | None:
        """Sent with `CONTINUATION`, and as a checkpoint in a stream that may break off; after other ends it is void."""
        label = self._evidence.reasons.winner()
        resumable = broke_off or (label is not None and fold(name_of(label.raw or "")) == _CONTINUATION)
        return self._token or None if resumable else None

    def _is_ours(self, candidate: Mapping[str, Any]) -> bool:
        index = count(candidate.get("index")) or 0
        if self._candidate is None and candidate:
            self._candidate = index
        return bool(candidate) and index == self._candidate

    def _take_candidate(self, candidate: Mapping[str, Any]) -> Delta | None:
        raw = word(candidate.get("finishReason"))
        if raw or candidate.get("finishReason") == "":
            self._evidence.reasons.label("finishReason", raw, normalize(raw))
        if any(mapping(rating).get("blocked") is True for rating in sequence(candidate.get("safetyRatings"))):
            self._evidence.reasons.sign("safetyRatings", NormalizedStopReason.SAFETY_BLOCKED)
        self._finish_message = string(candidate.get("finishMessage")) or self._finish_message
        self._token = string(candidate.get("continuationToken")) or self._token
        return self._parts.take(mapping(candidate.get("content")).get("parts"))

    def _take_block(self, feedback: Mapping[str, Any]) -> None:
        """A prompt that was blocked has no candidate at all; any word there is a block."""
        raw = word(feedback.get("blockReason"))
        if raw:
            self._evidence.reasons.label("promptFeedback", raw, NormalizedStopReason.SAFETY_BLOCKED)
            self._block_message = string(feedback.get("blockReasonMessage"))

    def _take_usage(self, usage: Mapping[str, Any]) -> None:
        """Each chunk's counts are the sum so far; the last one seen of each stands, and zeros are left out."""
        self._counts |= {key: number for key in usage if (number := count(usage[key])) is not None}
        known = self._counts
        if not ({"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"} & known.keys()):
            return
        taken = known.get("promptTokenCount", 0) + known.get("toolUsePromptTokenCount", 0)
        thoughts = known.get("thoughtsTokenCount", 0)
        said = known.get("candidatesTokenCount")
        if said is None:
            said = max(0, known.get("totalTokenCount", 0) - taken - thoughts)
        cached = known.get("cachedContentTokenCount", 0)
        self._evidence.usage = TokenUsage(taken, said + thoughts, thoughts, cached)
