"""One call of another run that waits for its answer: what was recorded of the same request, and what it costs."""

from dataclasses import dataclass
from typing import NamedTuple

from agentcore.events import Event, ModelResponded
from agentcore.machine.classify import response_error
from agentcore.machine.snapshot import Snapshot
from agentcore.replay.assuming import Assuming
from agentcore.replay.certainty import Assumed, Certainty
from agentcore.replay.heard import Asks, Heard, alike
from agentcore.replay.past import Past
from agentcore.replay.tape import spoken_tokens


class Answer(NamedTuple):
    """What comes back to a call. `place`: how far its iteration's tape is read then, in tokens; None: as before.

    `decided` is false where the recording does not know how the call would have ended; `event` is then what it knows.
    """

    event: Event | None
    certainty: Certainty
    place: float | None = None
    decided: bool = True


UNKNOWN = Answer(None, Certainty.UNDECIDABLE, decided=False)


@dataclass(slots=True)
class PendingCall:
    """One call of the run: the snapshot that waits for it, its place, and what is assumed for it."""

    snapshot: Snapshot
    nth: int  #: of its iteration, from 1
    cap: int
    left: float | None  #: seconds of max_seconds
    place: float | None  #: how far the tape is read; None: not since the runs parted
    past: Past
    assuming: Assuming

    def _counted(self, heard: Heard) -> tuple[float, float]:
        """Output tokens of an answer towards its cap, least and most."""
        if heard.tokens is not None:
            return float(heard.tokens - heard.reasoning if heard.doubtful else heard.tokens), float(heard.tokens)
        return spoken_tokens(heard, self.past.rate)

    def _candidates(self, same: Heard | None, asks: Asks) -> list[Heard]:
        """The recorded answers to this very request, the one of the same occurrence first."""
        calls = self.past.calls.get(self.snapshot.iteration, ())
        answered = [heard for heard in calls if isinstance(heard.event, ModelResponded) and not failing(heard)]
        return sorted((one for one in answered if alike(asks, one.asks)), key=lambda one: one is not same)

    def _reworded(self) -> Certainty:
        self.assuming.note(Assumed.WORDING, 0.0, 0.0, "the provider's own form of earlier answers is not sent back")
        return Certainty.ESTIMATED

    def _reasoning(self, known: Heard, same: Heard | None) -> float:
        """The tokens it thinks for: those of the same occurrence, where its thinking had ended."""
        if known is same and known.veiled and known.thought_through and known.tokens is not None:
            least, most = spoken_tokens(known, self.past.rate)
            source = "counted, but neither reported nor shown"
            return self.assuming.at(Assumed.REASONING, known.tokens - least, known.tokens - most, source)
        if known is same and known.thought_through:
            if known.tokens is not None or not known.reasoning:
                return float(known.reasoning)
            source = "from the thinking that is shown"
            return self.assuming.at(Assumed.REASONING, known.reasoning / 2, known.reasoning * 2.0, source)
        if same is None or same.thought_through or not same.answered or not alike(same.asks, known.asks):
            return self.assuming.reasoning()
        least, most = float(same.reasoning), max(float(same.reasoning), float(self.cap))
        return self.assuming.at(Assumed.REASONING, least, most, "cut in its thinking; its length is not recorded")

    def _idle(self, known: Heard, reasoning: float) -> float:
        """How much of its reasoning counts towards its cap."""
        if known.uncounted:
            return 0.0
        return self.assuming.counted(reasoning) if known.doubtful and reasoning else reasoning

    def _seconds(self, tokens: float) -> float:
        """How long a call of so many tokens takes: at the recorded pace, or as long as the shortest that said as much,
        for much of a call's time may be the same whatever it says."""
        calls = [heard for heard in self.past.calls.get(self.snapshot.iteration, ()) if heard.response]
        spent = [self._counted(heard)[1] for heard in calls]
        seconds = sum(heard.seconds for heard in calls) * (tokens / sum(spent) if sum(spent) else 0.0)
        if self.snapshot.limits.max_seconds is None:
            return seconds
        longer = [heard.seconds for heard, said in zip(calls, spent, strict=True) if said >= tokens]
        high = max(2 * seconds, min(longer, default=0.0))
        return self.assuming.at(Assumed.SECONDS, 0.5 * seconds, high, "the recorded pace")


def failing(heard: Heard) -> bool:
    return heard.failed or (heard.response is not None and response_error(heard.response) is not None)
