"""Lint signs of a turn with their evidence, read again from its history."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentcore.events import ModelResponded
from agentcore.lint import CODES, Sign, asks_for_stops, seam_sign, signs
from agentcore.machine.accounting import rule_of
from agentcore.messages import ChatResponse
from agentcore.replay import Span

MOST = 50  #: shown of one turn


@dataclass(frozen=True, slots=True)
class SignView:
    """One sign and the attempt it is in. `said`: the provider's own word, which stands as it was."""

    attempt: int
    said: str | None
    sign: Sign

    @property
    def means(self) -> str:
        return CODES[self.sign.code]

    def as_json(self) -> dict[str, object]:
        """As the API tells it; `at`: the place of `text` in the merged answer."""
        sign = self.sign
        told = {"attempt": self.attempt, "raw_stop_reason": self.said, "code": sign.code, "words": sign.words}
        return {**told, "text": sign.text, "at": sign.at, "readings": sign.readings}


def signs_of(spans: tuple[Span, ...]) -> tuple[SignView, ...]:
    """The lint signs of each attempt in order, at most `MOST`."""
    found = _found(spans)
    return tuple(shown for shown, _ in zip(found, range(MOST), strict=False))


def _found(spans: tuple[Span, ...]) -> Iterator[SignView]:
    for span in spans:
        event, before = span.record.event, span.before
        if not (isinstance(event, ModelResponded) and span.known and before.call is not None):
            continue
        response: ChatResponse = event.response
        stops = asks_for_stops(before.asked.extra)
        rule = rule_of(before.revision)
        for sign in signs(response, before.known_cap, before.answer.text, stops=stops, rule=rule):
            yield SignView(before.spent.attempts, response.raw_stop_reason, sign)
        yield from _seams(span, response.raw_stop_reason)


def _seams(span: Span, said: str | None) -> Iterator[SignView]:
    """The seams of the span's own answer at which a repeat may stand."""
    answers = (*span.after.earlier, span.after.answer)
    known = {part.attempt for part in span.before.answer.segments}
    for answer in answers[len(span.before.earlier) :]:
        for part in answer.segments:
            if part.ambiguous and part.attempt not in known:
                yield SignView(part.attempt, said, seam_sign(answer.text, part.start, part.ambiguous))
