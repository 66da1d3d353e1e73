"""One value of a sweep, and which of those tried are recommended."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from agentcore.policy import LIMIT_NAMES
from agentcore.replay import Certainty, Why
from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.replay.limit_controls import Number
from dashboard.turns.certainty_text import NOT_KNOWN, why_in_words
from dashboard.turns.endings import MAY_BE_CUT
from dashboard.turns.prices.rates import Price
from dashboard.turns.reason_looks import reason_label


@dataclass(frozen=True, slots=True)
class Point:
    """The turn at one value. `word`: how it would have ended, `undecidable` where that is not in the recording."""

    value: int
    word: str
    completed: bool
    tokens: int
    calls: int
    price: Price | None
    certainty: Certainty = Certainty.RECORDED
    seconds: float = 0.0  #: it takes, not held by an operator; with assumed calls it is about so long
    stopped: bool = False  #: it is undecidable because imagining it would take too much work
    why: Why | None = None  #: it is undecidable; None where it is not
    tokens_range: tuple[int, int] | None = None  #: at both ends of what is assumed, `tokens` lying midway
    resource: str | None = None  #: the limit that would have stopped it
    at_cap: bool = False  #: it used all tokens that the value gave its last call, where that may have been cut

    @property
    def tokens_between(self) -> tuple[int, int] | None:
        """The range, where it is one."""
        return self.tokens_range if self.tokens_range and len({*self.tokens_range}) > 1 else None

    @property
    def undecidable(self) -> bool:
        return self.certainty is Certainty.UNDECIDABLE

    @property
    def is_enough(self) -> bool:
        """Whether it completes, and nothing says that its answer was cut there."""
        return self.completed and not self.at_cap

    @property
    def completes_certainly(self) -> bool:
        return self.completed and self.certainty.rank <= Certainty.CERTAIN.rank

    def shown(self) -> dict[str, Any]:
        """As the API tells it; `price`: US dollars, null where it is not known."""
        told = {"value": self.value, "ends": self.word, "completed": self.completed}
        price = None if self.price is None else float(self.price.dollars)
        told |= {"output_tokens": self.tokens, "attempts": self.calls, "price": price, "seconds": self.seconds}
        told |= {"output_tokens_range": self.tokens_range or (self.tokens, self.tokens)}
        return {**told, "certainty": self.certainty.value, "why": self.why}

    @property
    def ends_in_words(self) -> str:
        return NOT_KNOWN if self.undecidable else ends_in_words(self.word, self.resource, at_cap=self.at_cap)

    @property
    def look(self) -> str:
        """The word that its end looks like."""
        return MAY_BE_CUT.look if self.completed and self.at_cap else self.word

    @property
    def why_in_words(self) -> str:
        """Why it is undecidable, as a part of a sentence."""
        return why_in_words(self.why)


def ends_in_words(word: str, resource: str | None, *, at_cap: bool = False) -> str:
    """`Max continuations reached`: the limit that stopped a turn by its name, as in lists; else how it ended. `at_cap`:
    its answer used all its tokens."""
    if at_cap and word == "completed":
        return MAY_BE_CUT.name.lower()
    name = LIMIT_NAMES.get(resource or "")
    return f"{name} reached" if name else reason_label(word)


Holds = Callable[[Point], bool]
RECOMMENDED = 4  #: values that are recommended at most
#: Limits that a call's cap is taken from. An answer that ends exactly there may have been cut.
CAPPING = frozenset({"max_tokens", "max_total_completion_tokens"})


def margin_of(name: str) -> int:
    """Tokens that the end of an answer may take of a limit; 0 of a limit that caps no call."""
    return END_AT_MOST if name in CAPPING else 0


def recommended(points: Iterable[Point], recorded: Number | None = None, *, margin: int = 0) -> tuple[Point, ...]:
    """For each number of calls the smallest value from which the turn completes in so many, the fewest calls first.

    Where completing comes and goes, it is the beginning of the last stretch of values that were tried. One that is
    certain for a few tokens more, which the end of an answer may take, is as much larger. Where a turn would have
    completed in fewer calls than were recorded, it is the smallest value that is certain, as in the verdict, if one is.
    `margin`: of the limit, as `margin_of` it.
    """
    tried = sorted(points, key=lambda point: point.value)
    known = {point.value: point for point in tried}
    starts = [surer(tried[stretch_of(tried, calls)], known.get, margin) for calls in calls_of(tried)]
    if starts and (recorded is None or recorded < starts[0].value):
        starts[0] = next((point for point in tried if _is_surer(point, starts[0])), starts[0])
    fewest = dict[int, Point]()
    for point in starts:  # with a margin one may take as few calls as the one before it
        fewest.setdefault(point.calls, point)
    return tuple({point.value: point for point in fewest.values()}.values())


def fewest_first(points: Iterable[Point]) -> tuple[Point, ...]:
    """Values to recommend, after re-runs have shown what some take: of each number of calls the smallest, and none that
    takes as many calls as a smaller one."""
    kept = list[Point]()
    for point in sorted(points, key=lambda point: (point.calls, point.value)):
        if not kept or point.value < min(each.value for each in kept):
            kept.append(point)
    return tuple(kept)


def _is_surer(point: Point, likely: Point) -> bool:
    """Whether a value is as large, completes in as few calls, and is certain to."""
    certain = point.is_enough and point.completes_certainly
    return certain and point.value >= likely.value and point.calls <= likely.calls


def surer(point: Point, at: Callable[[int], Point | None], margin: int = 0) -> Point:
    """The point, or that of so many tokens more, as the end of an answer may take, from which on it is certain to
    complete in as many calls. Where no value is, that with the whole `margin`: a structured answer and a tool call are
    cut by an end that was not reported as well. `at`: the point of a value; None where it was not tried."""
    if point.certainty is not Certainty.ESTIMATED:
        return point
    more = [one for tokens in range(1, END_AT_MOST + 1) if (one := at(point.value + tokens)) is not None]
    surely = (one for one in more if one.is_enough and one.completes_certainly and one.calls == point.calls)
    enough = (one for one in more if one.is_enough and one.calls <= point.calls)
    whole = next((one for one in enough if margin and one.value == point.value + margin), point)
    return next(surely, whole)


def calls_of(points: Iterable[Point]) -> list[int]:
    """The numbers of calls in which the turn completes, the fewest first; of very many the first."""
    return sorted({point.calls for point in points if point.is_enough})[:RECOMMENDED]


def stretch_of(tried: list[Point], calls: int) -> int:
    """The place at which the last stretch begins that completes in so many calls, or fewer."""
    place = max(place for place, point in enumerate(tried) if point.is_enough and point.calls == calls)
    while place and tried[place - 1].is_enough and tried[place - 1].calls <= calls:
        place -= 1
    return place
