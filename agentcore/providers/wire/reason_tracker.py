"""Which of several sightings of a stop reason is believed, and how that reads beside the parts of the answer.

Priority of evidence (design §3.1): an error > a block > truncation > a pause, cancel or error word > a tool call > a
natural end. Of equal ones the last wins. Only a natural end is ever promoted to a tool call.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from agentcore.argument_validation import required
from agentcore.messages import ReasonSighting
from agentcore.reasons import CALL_WORDS, ERROR_WORDS, MALFORMED_CALL_WORDS, NormalizedStopReason
from agentcore.values import quickly_made

_CUTS = frozenset(
    {
        NormalizedStopReason.MAX_TOKENS,
        NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
        NormalizedStopReason.SAFETY_BLOCKED,
        NormalizedStopReason.CANCELLED,
    }
)

ERROR_PRIORITY = 100
#: How much each reason weighs as evidence.
PRIORITIES: Mapping[NormalizedStopReason, int] = {
    NormalizedStopReason.SAFETY_BLOCKED: 90,
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED: 81,  # it says more than max_tokens, which some send beside it
    NormalizedStopReason.MAX_TOKENS: 80,
    NormalizedStopReason.CANCELLED: 70,
    NormalizedStopReason.PAUSED: 70,
    NormalizedStopReason.TOOL_CALL: 50,
    NormalizedStopReason.END_TURN: 40,
    NormalizedStopReason.UNKNOWN: 40,
}
_BAD_WORD_PRIORITY = 70
_ASIDE_PRIORITY = 10  # an unknown word beside the label, such as the stop string that vLLM quotes
_BLANK_PRIORITY = 0


def fold(raw: str) -> str:
    """A provider's word as it is compared; the word itself is kept as it came."""
    if not isinstance(raw, str):
        required(raw, str, "raw")
    return raw.strip().casefold()


@quickly_made
@dataclass(frozen=True, slots=True)
class SettledReason:
    """What the sightings add up to. `raw` is the winning word; `relabelled`: the provider's label was overridden."""

    stop_reason: NormalizedStopReason
    raw: str | None
    relabelled: bool


class ReasonTracker:
    """Collects every sighting of a stop reason in one answer."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str | None], ReasonSighting] = {}  # in the order of their last sighting
        self._label: ReasonSighting | None = None

    def label(self, source: str, raw: str, normalized: NormalizedStopReason) -> None:
        """The word in the place the dialect has for it."""
        word = fold(raw)
        priority = _priority(word, normalized) if word else _BLANK_PRIORITY
        seen = self._keep(ReasonSighting(source, raw, normalized, priority))
        if word or self._label is None:
            self._label = seen

    def native(self, source: str, raw: str, normalized: NormalizedStopReason) -> None:
        """The word of whoever stands behind the provider; an unknown one never outweighs the label."""
        word = fold(raw)
        known = normalized is not NormalizedStopReason.UNKNOWN or word in ERROR_WORDS or word in CALL_WORDS
        priority = _priority(word, normalized) if known else _ASIDE_PRIORITY
        self._keep(ReasonSighting(source, raw, normalized, priority))

    def aside(self, source: str, raw: str, normalized: NormalizedStopReason) -> None:
        """A word beside the label that explains it, and outweighs nothing."""
        self._keep(ReasonSighting(source, raw, normalized, _ASIDE_PRIORITY))

    def sign(self, source: str, normalized: NormalizedStopReason) -> None:
        """Evidence without a word: a refusal, tokens at the cap, a `truncated` flag."""
        self._keep(ReasonSighting(source, None, normalized, PRIORITIES[normalized]))

    def break_off(self, source: str) -> None:
        """The answer ends before its end, so that no word in it can be believed."""
        self._keep(ReasonSighting(source, None, NormalizedStopReason.UNKNOWN, ERROR_PRIORITY))

    def error(self, source: str, raw: str, normalized: NormalizedStopReason) -> None:
        """An error object inside the answer."""
        self._keep(ReasonSighting(source, raw, normalized, ERROR_PRIORITY))

    @property
    def trail(self) -> tuple[ReasonSighting, ...]:
        """All sightings, each source and word once, the latest last."""
        return tuple(self._seen.values())

    @property
    def has_word(self) -> bool:
        """Whether a reason that says something has been received."""
        return any(seen.raw is not None and fold(seen.raw) for seen in self._seen.values())

    @property
    def saw_cut(self) -> bool:
        """Whether anything seen would leave a call half-written: truncation, a block, a cancel, an error."""
        return any(
            seen.priority == ERROR_PRIORITY or seen.normalized in _CUTS or fold(seen.raw or "") in ERROR_WORDS
            for seen in self._seen.values()
        )

    @property
    def says_malformed_call(self) -> bool:
        """Whether the provider dropped a call because the model wrote it badly."""
        return any(fold(seen.raw or "") in MALFORMED_CALL_WORDS for seen in self._seen.values())

    def winner(self) -> ReasonSighting | None:
        """The weightiest sighting; of equal ones the last."""
        winner = None
        for seen in self._seen.values():
            if winner is None or seen.priority >= winner.priority:
                winner = seen
        return winner

    def settle(self, *, has_calls: bool) -> SettledReason:
        """What they add up to beside the client-side calls of the answer, whole or broken."""
        winner = self.winner()
        if winner is None:
            return SettledReason(NormalizedStopReason.UNKNOWN, None, relabelled=False)
        label = self._label
        raw = winner.raw if winner.raw is not None or label is None else label.raw
        reason = winner.normalized
        if reason is NormalizedStopReason.END_TURN and has_calls:
            reason = NormalizedStopReason.TOOL_CALL
        elif reason is NormalizedStopReason.TOOL_CALL and not has_calls:
            reason = NormalizedStopReason.END_TURN
        overridden = label is not None and bool(fold(label.raw or "")) and label.normalized is not reason
        return SettledReason(reason, raw, relabelled=overridden)

    def _keep(self, seen: ReasonSighting) -> ReasonSighting:
        self._seen.pop((seen.source, seen.raw), None)
        self._seen[(seen.source, seen.raw)] = seen
        return seen


def _priority(word: str, normalized: NormalizedStopReason) -> int:
    bad = word in ERROR_WORDS or word in CALL_WORDS or word in MALFORMED_CALL_WORDS
    return _BAD_WORD_PRIORITY if bad else PRIORITIES[normalized]
