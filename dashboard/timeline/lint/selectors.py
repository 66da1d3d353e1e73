"""How often stop reasons seem to hide a cut: by code, by connection and model, by day."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import structlog
from django.db import connection

from agentcore.errors import CoreError
from agentcore.lint import CODES
from agentcore.policy import limit_in_words
from agentcore.replay import fold
from dashboard.agents.models import Project
from dashboard.platform.ids import first_id_at
from dashboard.timeline import rollups
from dashboard.turns.filters import MAX_VALUES
from dashboard.turns.history import recording_of
from dashboard.turns.lint_view import SignView, signs_of
from dashboard.turns.models import Cohort, Turn
from dashboard.turns.shared_values import UNREADABLE

log = structlog.get_logger(__name__)

MOST = 20_000  #: turns with a sign that are counted, the newest
EXAMPLES = 3  #: of each code
LONGEST = 200  #: records of a turn that is read again for its evidence

COUNTED = """
SELECT code, linted.provider, linted.model, coalesce(connection.name, ''), linted.day, count(*),
       array_agg(DISTINCT linted.agent_name)
  FROM (SELECT id, lint, provider, model, agent_id, agent_name, (created_at AT TIME ZONE 'UTC')::date AS day
          FROM turns_turn
         WHERE project_id = %(project)s AND NOT (lint = '[]') AND id >= %(since)s
         ORDER BY id DESC LIMIT %(most)s) linted
 CROSS JOIN LATERAL jsonb_array_elements_text
       (CASE jsonb_typeof(linted.lint) WHEN 'array' THEN linted.lint ELSE '[]' END) code
  LEFT JOIN agents_agent agent ON agent.id = linted.agent_id
  LEFT JOIN agents_connection connection ON connection.id = agent.connection_id
 GROUP BY 1, 2, 3, 4, 5
"""
NEWEST = """
SELECT id FROM turns_turn
 WHERE project_id = %(project)s AND NOT (lint = '[]') AND id >= %(since)s
   AND lint ? %(code)s AND last_seq <= %(longest)s
 ORDER BY id DESC LIMIT %(most)s
"""
_CAP = limit_in_words("max_tokens")
_RAISE = f"Raise {_CAP}"
#: What to do about each sign of a cut.
ADVICE: Mapping[str, str] = {
    "output_at_cap": f"{_RAISE}, and check any proxy in between: it may report truncation as a normal stop, and then "
    "nothing is continued.",
    "unclosed_json": "Set an envelope schema on the agent, so that an answer with incomplete JSON is requested again. "
    f"If far fewer tokens were used than {_CAP} allows, the server has a lower limit of its own.",
    "unclosed_fence": f"{_RAISE}. If far fewer tokens were used, raise the server's own limit instead.",
    "unclosed_bracket": f"{_RAISE}. Read the end of the answer before you rely on it.",
    "unclosed_sentence": f"{_RAISE}. Read the end of the answer before you rely on it.",
    "reasoning_ate_budget": f"{_RAISE} well above the model's reasoning tokens, or limit its reasoning with an effort "
    "setting or a thinking budget.",
    "relabelled": "Often a proxy between Whystop and the provider has renamed this stop reason. If Whystop knows the "
    "new name, the turn was continued all the same. If there is a proxy, correct its mapping, because other programs "
    "rely on it.",
    "ambiguous_seam": "Read the marked passage on the turn's page. If the connection can continue an assistant message "
    "(prefill), turn this on, so that nothing is repeated.",
}
assert ADVICE.keys() == CODES.keys(), "every code has its advice"


@dataclass(frozen=True, slots=True)
class SignCount:
    """Signs of one code, from one connection and model, on one day."""

    code: str
    provider: str
    model: str
    connection: str
    day: date
    count: int
    agents: list[str]  #: whose turns these are


@dataclass(frozen=True, slots=True)
class Example:
    """A turn, and the first sign of the code in it; None where its history does not show it any more."""

    turn: Turn
    shown: SignView | None


@dataclass(frozen=True, slots=True)
class CodeCount:
    """One code: how often, on which days, and turns to look at."""

    code: str
    count: int
    days: tuple[tuple[date, int], ...]
    examples: tuple[Example, ...]

    @property
    def means(self) -> str:
        return CODES[self.code]

    @property
    def advice(self) -> str:
        return ADVICE[self.code]


@dataclass(frozen=True, slots=True)
class Source:
    """A connection and a model: its signs by code, and all turns of the model, whichever connection they took."""

    connection: str
    provider: str
    model: str
    counts: Mapping[str, int]
    turns: int
    agents: tuple[str, ...]
    since: datetime

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def by_code(self) -> tuple[tuple[str, int], ...]:
        return tuple((code, self.counts[code]) for code in CODES if self.counts.get(code))

    @property
    def listed(self) -> tuple[tuple[str, int, str], ...]:
        """As `by_code`, and where the turns of each are listed. The address is empty where too many agents would have
        to be named: the timeline knows no connections."""
        return tuple((code, count, self._address(code)) for code, count in self.by_code)

    def _address(self, code: str) -> str:
        if len(self.agents) > MAX_VALUES:
            return ""
        asked = {"lint": code, "model": self.model, "agent": self.agents, "since": f"{self.since:%Y-%m-%d}"}
        return f"/?{urlencode(asked, doseq=True)}"


@dataclass(frozen=True, slots=True)
class Report:
    """`found` has every code that occurs, most frequent first; so have `sources`. `capped`: only the newest count."""

    found: tuple[CodeCount, ...]
    sources: tuple[Source, ...]
    capped: bool


def report_of(*, project: Project, since: datetime, until: datetime) -> Report:
    """What was found from `since` on; days run to `until`."""
    rows = _rows(project, since)
    codes = Counter[str]()
    for row in rows:
        codes[row.code] += row.count
    found = tuple(_found(project, code, count, rows, since, until) for code, count in codes.most_common())
    return Report(found, _sources(project, rows, since), capped=_linted(project, since) > MOST)


def _rows(project: Project, since: datetime) -> list[SignCount]:
    with connection.cursor() as cursor:
        cursor.execute(COUNTED, {"project": project.pk, "since": first_id_at(since), "most": MOST})
        return [SignCount(*row) for row in cursor.fetchall() if row[0] in CODES]


def _linted(project: Project, since: datetime) -> int:
    """How many turns have a sign, up to one more than are counted."""
    turns = Turn.objects.filter(project=project, id__gte=first_id_at(since)).exclude(lint=[])
    return turns.order_by("-id")[: MOST + 1].count()


def _found(
    project: Project, code: str, count: int, rows: list[SignCount], since: datetime, until: datetime
) -> CodeCount:
    by_day = Counter[date]()
    for row in rows:
        by_day[row.day] += row.count if row.code == code else 0
    span = (until.date() - since.date()).days + 1
    days = tuple((day, by_day[day]) for day in (since.date() + timedelta(days=n) for n in range(span)))
    return CodeCount(code, count, days, tuple(_examples(project, code, since)))


def _examples(project: Project, code: str, since: datetime) -> Iterator[Example]:
    values: dict[str, Any] = {
        "project": project.pk,
        "code": code,
        "since": first_id_at(since),
        "most": EXAMPLES,
        "longest": LONGEST,
    }
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, values)
        ids = [turn_id for (turn_id,) in cursor.fetchall()]
    for turn in Turn.objects.filter(id__in=ids).order_by("-id"):
        yield Example(turn, _shown(turn, code))


def _shown(turn: Turn, code: str) -> SignView | None:
    """The first sign of the code; of a turn that cannot be read any more none, and the report goes on."""
    try:
        spans = fold(recording_of(turn))
    except (CoreError, *UNREADABLE) as error:
        log.warning("history_unreadable", turn=str(turn.id), error=f"{type(error).__name__}: {error}"[:500])
        return None
    return next((sign for sign in signs_of(spans) if sign.sign.code == code), None)


def _sources(project: Project, rows: list[SignCount], since: datetime) -> tuple[Source, ...]:
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    agents: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for row in rows:
        names = row.connection, row.provider, row.model
        counts[names][row.code] += row.count
        agents[names].update(row.agents)
    turns = _turns(project, since)
    sources = (
        Source(*names, by_code, turns[names[1:]], tuple(sorted(agents[names])), since)
        for names, by_code in counts.items()
    )
    return tuple(sorted(sources, key=lambda source: (-source.total, source.connection, source.model)))


def _turns(project: Project, since: datetime) -> Counter[tuple[str, ...]]:
    """All turns by provider and model. Counted before the cohorts are read, for others may begin at any moment; one
    that a replica does not have yet is left out."""
    counts = rollups.counts(project=project, since=since)
    turns = Counter[tuple[str, ...]]()
    for cohort, *names in Cohort.objects.filter(id__in=[*counts]).values_list("id", "provider", "model"):
        turns[tuple(names)] += counts[cohort]
    return turns
