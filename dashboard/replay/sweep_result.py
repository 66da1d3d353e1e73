"""The result of a sweep in sentences, and as the API returns it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.number_format import count
from agentcore.policy import LIMIT_NAMES, limit_in_words
from agentcore.replay import Certainty
from dashboard.agents.limit_fields import UNNAMED_UNITS, amount, unit_of
from dashboard.replay.found_values import Found
from dashboard.replay.margin_text import one_call_estimated
from dashboard.replay.sweep_point import CAPPING
from dashboard.replay.sweep_values import SweepValues

DOUBTFUL = "The recorded answer may be cut off whatever the limit is; the turn's page says why."


@dataclass(frozen=True, slots=True)
class Sweep(SweepValues):
    """What a sweep found, in words."""

    def shown(self) -> dict[str, Any]:
        """The sweep as the API returns it."""
        least = None if self.least is None else self.least.value
        told: dict[str, Any] = {"limit": self.name, "least": least, "sure": self.sure, "tried": self.tried}
        told["left_out"] = self.left_out
        told |= {**_shown({"certain": self.certain, "likely": self.likely}), "with_reruns": _shown(self.with_reruns)}
        rows = {row.value: row.words() for row in self.listed}
        told["words"] = self.words
        told["recommended"] = [{**each.shown(), **rows[each.value]} for each in self.recommended]
        told["recommendations"] = [row.shown() for row in self.recommendations]
        told["suggested"] = [each.shown() for each in self.suggested if each.known]
        told["measured"] = [each.shown() for each in self.measured]
        return {**told, "points": [{**each.shown(), **rows[each.value]} for each in self.points]}

    @property
    def words(self) -> str:
        """What was found, in sentences that claim no more than was tried."""
        return self.lead.words if self.lead else f"{self.finding}. {self.proof}"

    @property
    def finding(self) -> str:
        said = ", ".join(f"{self.word_of(name, each)} {each.words}" for name, each in self.told.items())
        if not said:
            first, last = self.points[0].value, self.points[-1].value
            limit = limit_in_words(self.name)
            return f"The turn is not known to complete with any value of {limit} from {first:,} to {last:,}"
        never = "" if self.with_reruns["certain"] else ", certain at no value that was tried"
        return f"{self.title} ({self.name}): {said.replace(' ', ' to complete ', 1)}{never}"

    @property
    def named(self) -> tuple[tuple[str, str, str], ...]:
        """Each value that is named: the certainty it is shown by, `certain` or `likely`, and from where on."""
        looks = {"certain": Certainty.CERTAIN.value, "likely": Certainty.ESTIMATED.value}
        return tuple((looks[name], self.word_of(name, found), found.words) for name, found in self.told.items())

    @property
    def unit(self) -> str:
        return unit_of(self.name)

    @property
    def recorded_amount(self) -> str:
        """`1 second`, of the value that was recorded."""
        return amount(self.name, self.recorded)

    @property
    def heading(self) -> str:
        """What stands over the result: nothing is recommended where no value is known to be enough."""
        if self.recommendations:
            return "Recommended values"
        if self.elsewhere:
            return "Another limit is suggested"
        return "No limit is known to help" if self.in_vain else "No value is known to be enough"

    @property
    def title(self) -> str:
        """What people call the limit."""
        return LIMIT_NAMES[self.name]

    @property
    def why_likely(self) -> str:
        """Why values beside one that was proven are no more than likely; empty where none are."""
        if self.name not in CAPPING or not any(each.likely and not each.at_cap for each in self.covered):
            return ""
        return (
            f"Values called likely here were not run: another {self.title} changes what a call requests, so the model "
            "may answer differently."
        )

    @property
    def axis(self) -> str:
        """What the values of the chart are: the unit, where the name does not say it."""
        return f"{self.title}, in {self.unit}" if self.unit in UNNAMED_UNITS else self.title

    @property
    def proof(self) -> str:
        """How far that is known, and what was left out for its work."""
        if self.lead:
            undecided = "" if self.recommended else "The recording itself does not decide it."
            return " ".join(filter(None, (undecided, self._left_out, self._of_range)))
        known = (self._margin, self._known_so_far, self._cut, self._left_out, self._stopped, self._of_range)
        return " ".join(filter(None, known))

    @property
    def _of_range(self) -> str:
        """Which of the recommended values are outside the range that was asked for."""
        if self.within is None:
            return ""
        first, last = self.within
        outside = [f"{each.value:,}" for each in self.recommendations if not first <= each.value <= last]
        if not outside:
            return ""
        named = " and ".join(filter(None, (", ".join(outside[:-1]), outside[-1])))
        return f"{named} {'is' if len(outside) == 1 else 'are'} outside the range that was asked for."

    @property
    def _cut(self) -> str:
        if self._at_cap:
            at = f"With the recorded value, {self.recorded_amount}"
            return f"{at}, the answer used all its tokens, so it may be cut off."
        return DOUBTFUL if self.doubtful else ""

    @property
    def _left_out(self) -> str:
        rest = f"{count(self.left_out, 'value')} in the range were not evaluated"
        said = f"Stopped after {count(self.tried, 'value')}, because evaluating more would take too long: {rest}."
        return said if self.left_out else ""

    @property
    def _stopped(self) -> str:
        values = sum(point.stopped for point in self.points)
        said = f"Not known only because evaluating them would take too long: {count(values, 'value')}."
        return said if values else ""

    @property
    def _known_so_far(self) -> str:
        if self.least is not None and (self.recommended or not self._at_cap):
            return self._known_below(self.least.value)
        unknown = next((point for point in self.points if point.undecidable), None)
        if unknown is None:
            return f"Every value shown was tried. {self.in_vain}".rstrip()
        said = self.in_vain or self.how
        return f"From {amount(self.name, unknown.value)} on, it is not known how the turn ends at some values. {said}"

    def _known_below(self, least: int) -> str:
        """Of the smallest value that completes. It is named where another one is recommended, or named as well."""
        alone = self.best is None or self.best.value == least
        alone = alone and all(found.value == found.first == least for found in self.told.values())
        if not self.left_out and least == self.points[0].value:
            return "The range begins there." if alone else f"It also completes with {least:,}, where the range begins."
        begins = "" if alone else f"The smallest value that completes is {least:,}. "
        said = f"{'All' if self.sure else 'Not all'} smaller values in the range were tried"
        more = f": for {self.unknown:,} of them it is not known how the turn ends" if self.unknown else ""
        return f"{begins}{said}{more}."

    @property
    def _margin(self) -> str:
        """What the recommended value leaves for the end of an answer, where that is a guess."""
        if self.best is None or self._without_margin is None:
            return ""
        if self.best.calls == 1:
            return one_call_estimated(self.best.value, self.best.tokens, self._without_margin)
        more = count(self.best.value - self._without_margin, "token")
        return f"{self.best.value:,} leaves a margin of {more}, because this is an estimate."


def _shown(found: Mapping[str, Found | None]) -> dict[str, Any]:
    return {name: None if each is None else each.shown() for name, each in found.items()}
