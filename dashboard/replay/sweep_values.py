"""What a sweep found: each value tried, the smallest at which the turn completes, and which are recommended."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from urllib.parse import urlencode

from agentcore.replay import Certainty
from agentcore.values import replace
from dashboard.replay.found_values import Found, found_in
from dashboard.replay.limit_controls import Number
from dashboard.replay.suggested_value import MeasuredValue, SuggestedValue
from dashboard.replay.sweep_point import Point, margin_of
from dashboard.replay.sweep_row import Row, row_of, row_of_suggested


@dataclass(frozen=True, slots=True)
class SweepValues:
    """`certain`: where the turn completes, recorded or certain; `likely`: where it completes, estimated included.

    `points` are those asked for, and the values that are named. `sure`: every smaller value of the range than the
    smallest that completes was tried; `unknown`: how many of those are undecidable. `recommended`: the values to choose
    from, the fewest calls first. `left_out`: how many of the values asked for were not evaluated, for the sweep would
    have taken too much work. `suggested`: what the turn's page says of this limit, the surest first, where the
    recording alone does not tell. `elsewhere`: whether it names another limit. `in_vain`: why no limit would help.
    """

    name: str
    recorded: Number | None
    points: tuple[Point, ...]
    certain: Found | None
    likely: Found | None
    sure: bool
    tried: int
    recommended: tuple[Point, ...] = ()
    left_out: int = 0
    suggested: tuple[SuggestedValue, ...] = ()
    unknown: int = 0
    elsewhere: bool = False
    in_vain: str = ""
    measured: tuple[MeasuredValue, ...] = ()  #: what live re-runs took, the smallest value first
    covered: tuple[MeasuredValue, ...] = ()  #: what the same tells of values that nobody ran
    known: tuple[Point, ...] = ()  #: all that were tried, also those that are not listed
    within: tuple[int, int] | None = None  #: the range that was asked for, where it is a part of what is usually tried
    untimed: bool = False  #: the recording has no times, so that no value tells how long the turn would have taken
    how: str = ""  #: what would tell how the turn ends where the recording does not
    doubtful: bool = False  #: whether the recorded answer may be cut off, as the turn's page says

    @property
    def with_reruns(self) -> dict[str, Found | None]:
        """`certain` and `likely`, with what live re-runs took in place of what the recording tells, and without values
        at which an answer may have been cut."""
        reruns = self.measured or self.covered or any(each.rerun for each in self.suggested)
        if not reruns and not any(point.at_cap for point in self.known):
            return {"certain": self.certain, "likely": self.likely}
        certain = found_in(self.known, lambda point: point.is_enough and point.completes_certainly)
        return {"certain": certain, "likely": found_in(self.known, lambda point: point.is_enough)}

    @property
    def least(self) -> Point | None:
        """The smallest value that completes, however sure that is."""
        return None if self.likely is None else self._point(self.likely.first)

    @property
    def lead(self) -> SuggestedValue | None:
        """The value to take where something else than the recording tells it, as on the turn's page."""
        return next(iter(self.named_by_page), None)

    @property
    def named_by_page(self) -> tuple[SuggestedValue, ...]:
        """The values that the turn's page tells of, without those of which the recording is surer."""
        sure = {point.value: point.certainty.rank for point in self.recommended}
        told = dict[tuple[int, str], SuggestedValue]()
        for each in self.suggested:
            apart = each.proven or each.beside or each.value not in sure
            if each.known and (apart or each.certainty.rank <= sure[each.value]):
                told.setdefault((each.value, each.beside), each)
        return tuple(told.values())

    @property
    def recommendations(self) -> tuple[Row, ...]:
        """What page, terminal and API recommend, in this order: what the turn's page tells of the limit, then of each
        number of calls the smallest value by the recording. Each value once."""
        said = tuple(row_of_suggested(each) for each in self.named_by_page)
        told = {row.value for row in said}
        rows = (*said, *(row for row in self._rows_of(self.recommended) if row.value not in told))
        one_call = self.name == "max_tokens"  # of a likely value that other turns tell, nobody counted the calls
        return tuple(row for row in rows if not any(_is_better(other, row, one_call=one_call) for other in rows))

    @property
    def value(self) -> int | None:
        """The value that is recommended, by whatever tells it."""
        lead, best = self.lead, self.best
        return lead.value if lead else best.value if best else None

    @property
    def listed(self) -> tuple[Row, ...]:
        """What is told of every point."""
        return self._rows_of(self.points)

    def _rows_of(self, points: Iterable[Point]) -> tuple[Row, ...]:
        told, again = {each.value: each for each in reversed(self.named_by_page)}, self._again
        again |= {each.value: each for each in self.covered}
        rows = (row_of(point, told.get(point.value), again.get(point.value)) for point in points)
        told_rows = (replace(row, why_in_words=f"{row.why_in_words}{self._beside_likely(row)}") for row in rows)
        return tuple(replace(row, seconds=None) if self.untimed and not row.rerun else row for row in told_rows)

    def _beside_likely(self, row: Row) -> str:
        """Why a value is not known though a smaller one is known, by something else than the recording."""
        smaller = (each for each in self.named_by_page if each.value < row.value and not each.beside)
        if not row.undecidable or (said := next(smaller, None)) is None:
            return ""
        by = "a live re-run" if said.rerun else "the estimate above"
        return f" (judged by this recording alone; {said.value:,} is {said.word} by {by})"

    @property
    def _again(self) -> dict[int, MeasuredValue]:
        return {each.value: each for each in self.measured}

    @property
    def best(self) -> Point | None:
        """The value to take: the smallest that completes in the fewest calls."""
        return self.recommended[0] if self.recommended else None

    def _point(self, value: int) -> Point:
        return next(point for point in self.points if point.value == value)

    @property
    def told(self) -> dict[str, Found]:
        """What is worth saying: what is certain is likely too, and what the turn's page suggests is said already."""
        said = {each.value for each in self.suggested if each.known}
        certain, likely = self.marked.get("certain"), self.marked.get("likely")
        again = likely is not None and likely == certain
        if certain is not None and likely is not None and certain.gap == "likely":  # its words say what is likely
            again = likely.value == certain.value
        told = {name: found for name, found in self.marked.items() if not (again and name == "likely")}
        return {name: found for name, found in told.items() if found.value not in said}

    def word_of(self, name: str, found: Found) -> str:
        """`proven` where a live re-run has shown a value that is called `certain`: one word for it everywhere."""
        shown = {each.value for each in self.measured if each.proven}
        shown |= {each.value for each in self.suggested if each.proven}
        return "proven" if name == "certain" and {found.value, found.first} & shown else name

    @property
    def marked(self) -> dict[str, Found]:
        """`with_reruns` as it is named: not by one number with the margin, and by another without."""
        return {name: self._with_margin(found) for name, found in self.with_reruns.items() if found is not None}

    @property
    def others(self) -> tuple[Row, ...]:
        """The recorded value and those that were run live, where they are not recommended."""
        told, shown = {row.value for row in self.recommendations}, {self.recorded, *self._again}
        return self._rows_of(point for point in self.points if point.value in shown - told)

    @property
    def asks(self) -> int | None:
        """The value to re-run with where nothing tells of one that completes: that of the turn's page, else the
        largest that the recording cannot tell of."""
        if self.elsewhere or self.in_vain:
            return None
        if self.suggested:
            return None if self.lead else self.suggested[0].value
        unknown = [point.value for point in self.points if point.undecidable]
        return unknown[-1] if unknown and not self.recommended and (self.least is None or self._at_cap) else None

    @property
    def asks_beside(self) -> SuggestedValue | None:
        """What has to be given with that value, or another limit would end the re-run first; None: nothing."""
        said = next(iter(self.suggested), None)
        return said if said is not None and said.value == self.asks and said.settings else None

    @property
    def asks_query(self) -> str:
        """The value and what has to be given with it, as the form of a re-run takes them from its address."""
        beside = self.asks_beside.settings if self.asks_beside else {}
        given = (("no_" + name, "on") if value is None else (name, value) for name, value in beside.items())
        return urlencode([(self.name, self.asks), *given])

    @property
    def _at_cap(self) -> bool:
        return any(point.value == self.recorded and point.at_cap for point in self.points)

    @property
    def _without_margin(self) -> int | None:
        """The smallest value, up to a margin below the recommended one, from which on the turn likely completes in as
        few calls; None where there is none."""
        best = self.best
        if best is None or best.certainty is not Certainty.ESTIMATED:
            return None
        least = best.value - margin_of(self.name)
        near = sorted((point for point in self.known if least <= point.value < best.value), key=lambda it: -it.value)
        as_good = [it.value for it in takewhile(lambda it: it.is_enough and it.calls <= best.calls, near)]
        return as_good[-1] if as_good else None

    def _with_margin(self, found: Found) -> Found:
        """The values as they are named: not one number with the margin and another without."""
        if self.best is None or self._without_margin is None:
            return found
        near = range(self._without_margin, self.best.value)
        first, since = (self.best.value if value in near else value for value in (found.first, found.since))
        return replace(found, first=first if first is not None else found.first, since=since)


def _is_better(one: Row, other: Row, *, one_call: bool) -> bool:
    """Whether a smaller value, alone, is as sure to complete and known to take as few calls: nobody takes the other.
    `one_call`: whether a value whose calls are not known may need only one; else it needs no fewer."""
    smaller = one.value < other.value and not one.beside and one.certainty.rank <= other.certainty.rank
    if not smaller or one.calls is None:
        return False
    return one.calls <= (other.calls or (1 if one_call else one.calls))
