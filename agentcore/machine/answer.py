"""The text of an answer, and which attempt added which part of it."""

from dataclasses import dataclass

from agentcore.reasons import AttemptKind
from agentcore.values import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class Segment:
    """The text that one attempt added to the answer: `answer.text[start:end]`. Before it, `dropped` characters of
    overlap were removed, which the answer contains just before `start`. The first `ambiguous` characters may be an
    overlap too, and were kept. Offsets are in characters."""

    attempt: int
    kind: AttemptKind  #: of its attempt
    start: int
    end: int
    dropped: int = 0
    ambiguous: int = 0


@quickly_made
@dataclass(frozen=True, slots=True)
class Answer:
    """The merged text of one iteration, and which attempt wrote which part of it."""

    text: str = ""
    segments: tuple[Segment, ...] = ()  #: in order; they cover the text. An attempt without text has none

    @property
    def without_repeats(self) -> str:
        """The other reading of the text: without the possible repeats that were kept."""
        return "".join([self.text[part.start + part.ambiguous : part.end] for part in self.segments])


def added_by(attempt: int, answer: Answer) -> str:
    """The text that the last attempt (number `attempt`) added to the answer; empty if it added nothing or only
    whitespace."""
    last = answer.segments[-1] if answer.segments else None
    if last is None or last.attempt != attempt:
        return ""
    return answer.text[last.start : last.end].strip()
