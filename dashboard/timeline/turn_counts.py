"""Turns by cohort under filters: from rollups where these can tell, else the newest turns one by one, up to a bound."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from dashboard.agents.models import Project
from dashboard.timeline import rollups
from dashboard.timeline.values import MOST_COHORTS, MOST_COUNTED
from dashboard.turns.cohorts import matching
from dashboard.turns.filters import RANGES, TimelineFilters
from dashboard.turns.id_range import id_range_of
from dashboard.turns.turn_query import Found, find

Time = tuple[datetime | None, datetime | None]  #: since and until


@dataclass(frozen=True, slots=True)
class Counts:
    """Turns by cohort. `capped`: these are the newest `MOST_COUNTED`, or those of the `MOST_COHORTS` largest cohorts,
    and there are more."""

    by_cohort: Mapping[int, int]
    capped: bool


def held_by_rollups(filters: TimelineFilters) -> bool:
    """Whether cohorts and times are all the filters ask for; words, tags and the like are counted turn by turn."""
    ranged = any(filters.range_of(column) != (None, None) for column in RANGES)
    rare = filters.tag or filters.not_tag or filters.lint or filters.not_lint
    return not (filters.q or rare or filters.run or filters.requested_again or ranged)


def newest(*, project: Project, filters: TimelineFilters) -> tuple[list[Found], bool]:
    """The newest `MOST_COUNTED` turns the filters let through, and whether there are more."""
    found = find(project=project, filters=filters, reach=id_range_of(filters), limit=MOST_COUNTED + 1)
    return found[:MOST_COUNTED], len(found) > MOST_COUNTED


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """Counts of one project for one page: turns that are found one by one are found once for all that ask for them."""

    project: Project
    _newest: dict[TimelineFilters, tuple[list[Found], bool]] = field(default_factory=dict)
    _counts: dict[TimelineFilters, Counts] = field(default_factory=dict)
    _largest: dict[Time, Counts] = field(default_factory=dict)  #: of all cohorts

    def newest(self, filters: TimelineFilters) -> tuple[list[Found], bool]:
        """Counts of the newest turns, as `newest` gives them."""
        if filters not in self._newest:
            self._newest[filters] = newest(project=self.project, filters=filters)
        return self._newest[filters]

    def count(self, filters: TimelineFilters) -> Counts:
        """From rollups all cohorts, whatever is wanted of them; where these are too many, or rollups cannot tell, those
        the filters let through."""
        if filters not in self._counts:
            self._counts[filters] = self._rolled_up(filters) if held_by_rollups(filters) else self._one_by_one(filters)
        return self._counts[filters]

    def _rolled_up(self, filters: TimelineFilters) -> Counts:
        time = filters.since, filters.until
        if time not in self._largest:
            self._largest[time] = self._largest_of(time, None)
        largest = self._largest[time]
        wanted = matching(project=self.project, filters=filters) if largest.capped else None
        return largest if wanted is None else self._largest_of(time, wanted)

    def _largest_of(self, time: Time, wanted: list[int] | None) -> Counts:
        """One more than the bound is asked for: it tells whether there are more."""
        since, until = time
        counted = rollups.counts(project=self.project, since=since, until=until, most=MOST_COHORTS + 1, cohorts=wanted)
        return Counts(dict(islice(counted.items(), MOST_COHORTS)), capped=len(counted) > MOST_COHORTS)

    def _one_by_one(self, filters: TimelineFilters) -> Counts:
        found, capped = self.newest(filters)
        return Counts(Counter(cohort for _, cohort in found), capped)
