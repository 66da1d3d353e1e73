"""The text of an answer, and which attempt added which part of it."""

from dataclasses import dataclass

from agentcore.reasons import AttemptKind
from agentcore.values import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class Segment:
    """What one attempt added to the answer: `answer.text[start:end]`, after `dropped` characters of overlap, which
    stand in the answer just before `start`. The first `ambiguous` characters may be an overlap too, and were kept.
    Offsets are characters."""

    attempt: int
    kind: AttemptKind  #: of its attempt
    start: int
    end: int
    dropped: int = 0
    ambiguous: int = 0


@quickly_made
@dataclass(frozen=True, slots=True)
class Answer:
    """The merged text of one iteration, and which attempt said what of it."""

    text: str = ""
    segments: tuple[Segment, ...] = ()  #: in order; they cover the text. An attempt without text has none

    @property
    def without_repeats(self) -> str:
        """The other reading of the text: without what may be a repeat, and was kept."""
        return "".join([self.text[part.start + part.ambiguous : part.end] for part in self.segments])


def added_by(attempt: int, answer: Answer) -> str:
    """What the last attempt, which this is, added to the answer; empty where that was nothing, or only blanks."""
    last = answer.segments[-1] if answer.segments else None
    if last is None or last.attempt != attempt:
        return ""
    return answer.text[last.start : last.end].strip()
