"""What an estimate takes for granted: each assumption a range, and the run goes to one end of all of them.

The low end is the one at which the turn needs least: nothing repeated, nothing thought again, fewest tokens. The high
end is what the recorded calls bear out (design §3.9).
"""

from dataclasses import dataclass, field

from agentcore.replay.certainty import LEAST_CALLS, Assumed, Assumption, Experience, Observed
from agentcore.replay.recorded_run import Past
from agentcore.values import replace

#: Tokens that a continuation by hint may repeat where nothing tells: about three lines of text.
REPEATS = 48.0
#: How much of a text is said after a hint that was never given: asked to go on, a model may say other things.
WORDING = (0.75, 1.0)
#: What was said after a hint may take so many times the tokens when it is said in one go, and the whole answer so many
#: tokens at least: a model that was cut early and ended soon after the hint may have had much more to say.
IN_ONE_GO = (1.2, 250.0)
#: How far the share of a text's characters may be from the share of its tokens.
POSITION = 0.2

#: Where a connection makes reasoning a share of max_tokens, another cap is another amount of it.
SHARE = "a model may reason more under a higher limit"

LOW, MIDDLE, HIGH = 0.0, 0.5, 1.0
NEARLY = 1e-6  #: tokens or seconds that make no difference


class NeedsEnds(Exception):
    """An assumption with a range is needed: the run goes on twice, once to each end."""


@dataclass(slots=True)
class AssumptionSet:
    """The assumptions of one run. `end`: 0 low, 1 high, None while none with a range was needed."""

    past: Past
    experience: Experience
    end: float | None = None
    later: float | None = None  #: another end for the reasoning of calls that were never made; None: the same
    taken: dict[Assumed, Assumption] = field(default_factory=dict)  #: each with the widest range so far
    step: dict[Assumed, Assumption] = field(default_factory=dict)  #: of the step under way
    #: tokens by which an answer under another cap may have reasoned otherwise, of which all depends that follows it
    shifted: float = 0.0

    def at(self, name: Assumed, low: float, high: float, source: str) -> float:
        """The value at this run's end of the range. Raises `NeedsEnds` where both ends must be run."""
        if low == high:
            return low
        if self.end is None:
            raise NeedsEnds
        self.note(name, low, high, source)
        return low + (high - low) * self.end

    def note(self, name: Assumed, low: float, high: float, source: str) -> None:
        """Remember an assumption whose range makes no difference to what follows; its ends in either order."""
        found = Assumption(name, round(min(low, high), 2), round(max(low, high), 2), source)
        for kept in (self.step, self.taken):
            before = kept.get(name)
            kept[name] = found if before is None else _widened(found, before)

    def repeats(self, said: float) -> float:
        """Tokens that a continuation by hint repeats, of `said` tokens that there are to repeat."""
        high, source = self._bound(self.experience.repeats, self.past.repeated, REPEATS)
        return self.at(Assumed.REPEATS, 0.0, min(high, said), source)

    def reasoning(self, cap: int, *, asked_before: float = 0.0) -> float:
        """Tokens of reasoning in a call that was never made. Hidden reasoning matters where it may take all the cap.

        `asked_before`: of the same request's recorded answer. Stored continuations tell nothing of one that is made
        again unchanged.
        """
        high, source = self._bound(self.experience.reasoning, float(self.past.reasoning), 0.0)
        if asked_before > high:
            high, source = asked_before, "as the same request was answered"
        unseen = self.past.unseen if self.past.unseen >= cap else 0.0
        if unseen > high:  # stored calls that tell of no reasoning tell nothing of what is hidden
            high, source = unseen, "may be hidden among the tokens of a text"
        value = self.at(Assumed.REASONING, 0.0, high, source)
        return value if self.later is None else high * self.later

    def note_shifted(self) -> None:
        """Remember that what follows an answer under another cap may depend on how much that reasoned."""
        self.note(Assumed.REASONING, 0.0, self.shifted, SHARE)

    def counted(self, reasoning: float) -> float:
        """How much of so much reasoning counts towards the cap, where the recording does not show whether it does."""
        known = self.experience.counts_reasoning
        if known is None:
            return self.at(
                Assumed.REASONING, 0.0, reasoning, "whether reasoning counts towards the limit is not recorded"
            )
        counted = reasoning if known else 0.0
        self.note(Assumed.REASONING, counted, counted, "stored calls show whether reasoning counts towards the limit")
        return counted

    def _bound(self, observed: Observed | None, largest: float, default: float) -> tuple[float, str]:
        if observed is not None and observed.calls >= LEAST_CALLS:
            return observed.p95, f"95th percentile of {observed.calls} stored calls"
        return (largest, "the largest in this recording") if largest > default else (default, "default")


def _widened(found: Assumption, before: Assumption) -> Assumption:
    """The same, with a range that holds the one before too, and the source of the wider one."""
    wider, other = (found, before) if found.high - found.low >= before.high - before.low else (before, found)
    if wider.low <= other.low and other.high <= wider.high:
        return wider
    return replace(wider, low=min(found.low, before.low), high=max(found.high, before.high))
