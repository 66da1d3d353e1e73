"""The sums of a time: by span of so many seconds for charts, by minute for alerts, and by agent, provider or model.

Also holds what the tokens of sums cost, at list prices as they are now: one call's tokens are priced as any other's.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q

from agentcore.messages import TokenUsage
from dashboard.agents.models import Agent, Project
from dashboard.agents.samples import agents_on_simulator, is_simulated
from dashboard.board.measures import CACHED, INPUT, OTHER, OUTPUT
from dashboard.board.metrics import DOLLARS, FREE, UNPRICED, Sums
from dashboard.board.models import Sum
from dashboard.platform.replica import read_connection
from dashboard.simulator.model_table import MODELS, SIMULATOR
from dashboard.timeline.models import ChangedMinute
from dashboard.timeline.rollups import LEVELS, spans
from dashboard.turns.filters import EPOCH
from dashboard.turns.prices.rates import Rate, rate_of
from dashboard.turns.provider_words import STORED, is_of_simulator, providers_in, simulated

#: So many tokens are priced at once, so that a price that rises with the length of a call stays at its lowest.
ONE_CALL = 1_000


@dataclass
class PriceList:
    """The rates of one project, each looked up once."""

    project: Project
    _addresses: dict[str, str] | None = None
    _rates: dict[tuple[str, str, str], tuple[float, float, float] | None] = field(default_factory=dict)

    def dollars(self, agent: str, provider: str, model: str, sums: Sums) -> float:
        """What these tokens cost; 0 where the model has no known price."""
        rates = self._per_token(agent, provider, model)
        if rates is None:
            return 0.0
        cached = min(sums.get(CACHED, 0), sums.get(INPUT, 0))
        return (sums.get(INPUT, 0) - cached) * rates[0] + sums.get(OUTPUT, 0) * rates[1] + cached * rates[2]

    def is_known(self, agent: str, provider: str, model: str) -> bool:
        return self._per_token(agent, provider, model) is not None

    def _per_token(self, agent: str, provider: str, model: str) -> tuple[float, float, float] | None:
        key = (agent, provider, model)
        if key not in self._rates:
            rate = rate_of(provider=provider, model=model, address=self._address(agent))
            self._rates[key] = None if rate is None else _per_token(rate)
        return self._rates[key]

    def _address(self, agent: str) -> str:
        if self._addresses is None:
            rows = Agent.objects.filter(project=self.project).values_list("name", "connection__base_url")
            self._addresses = dict(rows)
        return self._addresses.get(agent, "")


def _per_token(rate: Rate) -> tuple[float, float, float]:
    """Dollars of a token that goes in, of one that comes out, and of one that goes in from the cache."""
    usages = (
        TokenUsage(ONE_CALL, 0),
        TokenUsage(0, ONE_CALL),
        TokenUsage(ONE_CALL, 0, cached_tokens=ONE_CALL),
    )
    into, out, cached = (float(rate.dollars(usage)) / ONE_CALL for usage in usages)
    return into, out, cached


#: What sums may be narrowed by and split by: the timeline's filter, and the column.
DIMENSIONS: Mapping[str, str] = {"agent": "agent_name", "provider": "provider", "model": "model"}
MOST_VALUES = 500  #: of a dimension that are offered
MOST_GROUPS = 50  #: of a split that are listed; the rest are summed under `other`
ROWS_AT_ONCE = 2_000

OF_SIMULATOR = (
    "(model = ANY(%(models)s) OR agent_name = ANY(%(on_simulator)s) AND NOT jsonb_exists(sums, 'output_tokens'))"
)
PIECE = """
SELECT floor(extract(epoch FROM start) / %(width)s)::bigint, agent_name, provider, model, sums FROM board_sum
 WHERE project_id = %(project)s AND seconds = {seconds} AND start >= '{start}' AND start < '{end}' {narrowed}
"""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose turns are summed; empty: all."""

    agent: str = ""
    provider: str = ""
    model: str = ""

    def given(self) -> dict[str, str]:
        """What is set, by the timeline's filter."""
        return {name: value for name in DIMENSIONS if (value := getattr(self, name))}


Totals = dict[str, float]  #: by measure


def add(totals: Totals, sums: Mapping[str, float], times: int = 1) -> None:
    """Add sums to totals; with -1, take them away."""
    for measure, value in sums.items():
        totals[measure] = totals.get(measure, 0) + times * value


@dataclass(frozen=True, slots=True)
class Board:
    """`buckets`: the sums of each span that has any, by its beginning. `groups`: of the whole time, by the value of
    what it is split by, most turns first. `unpriced`: models whose list price is not known. Of both no more than
    MOST_GROUPS, and `other` for the rest."""

    since: datetime
    until: datetime
    seconds: int
    buckets: dict[datetime, Totals]
    total: Totals
    groups: tuple[tuple[str, Totals], ...]
    unpriced: tuple[str, ...]
    #: minutes that are still to be summed
    behind: int


@dataclass
class _Adding:
    prices: PriceList
    buckets: dict[int, Totals] = field(default_factory=lambda: defaultdict(dict))
    groups: dict[str, Totals] = field(default_factory=lambda: defaultdict(dict))
    unpriced: set[str] = field(default_factory=set)

    def add(self, bucket: int, names: tuple[str, str, str], group: str, sums: dict[str, float]) -> None:
        if sums.get("input_tokens") or sums.get("output_tokens"):
            if self.prices.is_known(*names):
                sums[DOLLARS] = self.prices.dollars(*names, sums)
            else:
                sums[FREE if is_simulated(names[2]) else UNPRICED] = 1
                self.unpriced.add(names[2])
        for totals in (self.buckets[bucket], self.groups[group]):
            add(totals, sums)


def board_of(
    *, project: Project, scope: Scope, since: datetime, until: datetime, seconds: int, by: str = "model"
) -> Board:
    """`since` and `until`: whole multiples of `seconds`, which one of the rollups' levels divides."""
    adding, place = _Adding(PriceList(project)), list(DIMENSIONS).index(by)
    on_simulator = agents_on_simulator(project=project) if by == "provider" else ()
    for bucket, agent, provider, model, sums in _rows(project, scope, since, until, seconds):
        names = (agent, provider, model)
        answered = bool(sums.get("output_tokens"))
        free = by == "provider" and is_of_simulator(model, agent, answered=answered, on_simulator=on_simulator)
        adding.add(bucket, names, SIMULATOR if free else names[place], sums)
    total: Totals = {}
    for sums in adding.groups.values():
        add(total, sums)
    behind = ChangedMinute.objects.filter(project=project, minute__gte=since, minute__lt=until).count()
    starts = {datetime.fromtimestamp(n * seconds, UTC): sums for n, sums in sorted(adding.buckets.items())}
    return Board(since, until, seconds, starts, total, _largest(adding.groups), _listed(adding.unpriced), behind)


def _largest(groups: Mapping[str, Totals]) -> tuple[tuple[str, Totals], ...]:
    """Most turns first."""
    ranked = sorted(groups.items(), key=lambda group: (-group[1].get("turns", 0), group[0]))
    found = {name: dict(sums) for name, sums in ranked[:MOST_GROUPS]}
    for _, sums in ranked[MOST_GROUPS:]:
        add(found.setdefault(OTHER, {}), sums)
    return tuple(found.items())


def _listed(names: set[str]) -> tuple[str, ...]:
    listed = sorted(names)
    return (*listed[:MOST_GROUPS], *([OTHER] if len(listed) > MOST_GROUPS else []))


def minutes_of(
    *, project: Project, scope: Scope, since: datetime, until: datetime, priced: bool
) -> Iterator[tuple[datetime, Totals]]:
    """The sums of each minute that has any, in order. `priced`: with dollars."""
    prices, at = PriceList(project), -1
    totals: Totals = {}
    for minute, agent, provider, model, sums in _rows(project, scope, since, until, 60, ordered=True):
        if minute != at and at >= 0:
            yield EPOCH + timedelta(minutes=at), totals
            totals = {}
        at = minute
        if priced:
            sums[DOLLARS] = prices.dollars(agent, provider, model, sums)
        add(totals, sums)
    if at >= 0:
        yield EPOCH + timedelta(minutes=at), totals


def totals_of(*, project: Project, scope: Scope, since: datetime, until: datetime) -> Totals:
    """The sums of a time from a whole minute to another, with dollars."""
    prices = PriceList(project)
    totals: Totals = {}
    for _, agent, provider, model, sums in _rows(project, scope, since, until, LEVELS[0]):
        add(totals, {**sums, DOLLARS: prices.dollars(agent, provider, model, sums)})
    return totals


def values_of(*, project: Project) -> dict[str, list[str]]:
    """What the board can be narrowed to, by dimension."""
    days = Sum.objects.filter(project=project, seconds=LEVELS[0])
    found = {
        name: list(days.order_by(column).values_list(column, flat=True).distinct()[:MOST_VALUES])
        for name, column in DIMENSIONS.items()
        if name != "provider"
    }
    of_simulator = simulated(project, unanswered=~Q(sums__has_key=OUTPUT))
    return {**found, "provider": providers_in(days, of_simulator=of_simulator, most=MOST_VALUES)}


def _of_provider(word: str, project: Project) -> tuple[str, dict[str, object]]:
    """As `provider_words.condition` of one word, as SQL with its values by their names. A span of an agent without
    output tokens has no answer."""
    if word.startswith(STORED):
        return "provider = %(provider)s", {"provider": word.removeprefix(STORED)}
    values: dict[str, object] = {
        "provider": word,
        "models": list(MODELS),
        "on_simulator": agents_on_simulator(project=project),
    }
    if word == SIMULATOR:
        return f"(provider = %(provider)s OR {OF_SIMULATOR})", values
    return f"provider = %(provider)s AND NOT {OF_SIMULATOR}", values


def _rows(
    project: Project, scope: Scope, since: datetime, until: datetime, width: int, *, ordered: bool = False
) -> Iterator[Any]:
    """A few at a time: their number grows with the time and with the names."""
    level = next(seconds for seconds in LEVELS if width % seconds == 0)
    asked: dict[str, Any] = scope.given()
    conditions = [f"{DIMENSIONS[name]} = %({name})s" for name in asked if name != "provider"]
    if scope.provider:
        condition, values = _of_provider(scope.provider, project)
        conditions, asked = [*conditions, condition], asked | values
    narrowed = "".join(f" AND {condition}" for condition in conditions)
    pieces = [
        PIECE.format(seconds=span.seconds, start=span.start, end=span.end, narrowed=narrowed)
        for span in spans(since, until, level)
    ]
    statement = " UNION ALL ".join(pieces) + (" ORDER BY 1" if ordered else "")
    with read_connection().chunked_cursor() as cursor:
        cursor.execute(statement, {"project": project.pk, "width": width, **asked})
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield from ((*row[:4], json.loads(row[4])) for row in rows)
