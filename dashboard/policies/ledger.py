"""For every number that stops turns: who set it, when, and how many turns it has stopped since, at what cost.

Counted are the newest stops of a period, up to `MOST`; the page says where there were more. Prices are list prices of
all tokens of a turn as if they were one call: an estimate, and said to be.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Length

from agentcore.messages import TokenUsage
from dashboard.agents.models import Policy, PolicyVersion, Project
from dashboard.agents.selectors import policy_list
from dashboard.policies.settings import Setting, settings_of
from dashboard.policies.sources import stored_before
from dashboard.policies.stops import ASKED, TERMINAL, clause_of
from dashboard.policies.words import LEVEL_WORDS, key_of, label_of, value_in_words
from dashboard.prices.rates import Price, priced, rate_of
from dashboard.turns.ids import first_id_at
from dashboard.turns.models import Cohort, Outcome, Turn

MOST = 10_000  #: stops that are read
EXAMPLES = 3
#: Why the agent stopped, where a field of a policy may have been the cause.
STOPS = ("retry_limit", "token_limit", "guard", "error", "steps_limit", "time_limit", "finish_reason")


@dataclass(frozen=True, slots=True)
class Said:
    """Whose word stopped turns: a field at a level, of a policy or of nobody (a default, or turns' own overrides)."""

    field: str
    level: str
    policy: str = ""
    policy_id: UUID | None = None


@dataclass(slots=True)
class Line:
    """One line of the ledger, added up turn by turn."""

    said: Said
    setting: Setting | None = None
    value: Any = None  #: in the newest turn it stopped
    turns: int = 0
    since: int = 0  #: of them, those since it was set to what it is
    output_tokens: int = 0
    unanswered: int = 0  #: turns of which nothing at all was left
    spent: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    examples: list[UUID] = field(default_factory=list)

    @property
    def label(self) -> str:
        return label_of(self.said.field)

    @property
    def key(self) -> str:
        return key_of(self.said.field)

    @property
    def shown(self) -> str:
        """What it says now; where no policy says it, what it said when it last stopped a turn."""
        return value_in_words(self.said.field, self.setting.value if self.setting else self.value)

    @property
    def words(self) -> str:
        return LEVEL_WORDS[self.said.level]

    @property
    def cut_short(self) -> int:
        """Turns that ended with only part of an answer."""
        return self.turns - self.unanswered

    @property
    def price(self) -> Price | None:
        """What these turns cost; None where some of their models' prices are not known."""
        each = [
            priced(rate_of(provider=provider, model=model), [TokenUsage(*tokens)], estimated=True)
            for (provider, model), tokens in self.spent.items()
        ]
        known = [price for price in each if price is not None]
        if not known or len(known) < len(each):
            return None
        return Price(sum((price.dollars for price in known), start=known[0].dollars * 0), True, known[0].basis)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The lines, those that stopped most turns first. `capped`: there were more stops than were read."""

    lines: tuple[Line, ...]
    stops: int
    capped: bool
    silent: tuple[Setting, ...]  #: what is said and has stopped nothing


def ledger_of(project: Project, *, since: datetime, now: datetime) -> Ledger:
    """The stops since then, by whose word it was."""
    rows = _rows(project, since)
    policies = {policy.pk: policy for policy in policy_list(project=project)}
    lines: dict[Said, Line] = {}
    settings = {policy_id: settings_of(policy, at=now) for policy_id, policy in policies.items()}
    before = {row["policy_version"] for row in rows if row["policy_sources"] is None} - {None}
    versions = PolicyVersion.objects.select_related("policy").in_bulk(before)
    stops = 0
    for row in rows[:MOST]:
        said = _said(row, policies, versions)
        if said is None:
            continue
        stops += 1
        setting = settings[said.policy_id].get(said.field) if said.policy_id in settings else None
        line = lines.setdefault(said, Line(said, setting, _value(row, said.field)))
        _add(line, row)
    ordered = sorted(lines.values(), key=lambda line: -line.turns)
    return Ledger(tuple(ordered), stops, len(rows) > MOST, tuple(_silent(settings, lines)))


def _rows(project: Project, since: datetime) -> list[Mapping[str, Any]]:
    last = Outcome.objects.filter(turn_id=OuterRef("id")).order_by("-seq", "-position").values("resolved_by")[:1]
    cohorts = Cohort.objects.filter(project=project, stop_reason__in=STOPS).values("id")
    turns = Turn.objects.filter(cohort__in=cohorts, id__gte=first_id_at(since), terminal_reason__in=TERMINAL)
    found = turns.annotate(resolved_by=Subquery(last), said=Length("output_text")).order_by("-id")
    return list(found.values(*COLUMNS, "resolved_by", "said")[: MOST + 1])


COLUMNS = (
    "id",
    "created_at",
    "terminal_reason",
    "stop_reason",
    "error_type",
    "provider",
    "model",
    "input_tokens",
    "output_tokens",
    "policy",
    "policy_sources",
    "overrides",
    "policy_version",
)


def _said(
    row: Mapping[str, Any], policies: Mapping[UUID, Policy], versions: Mapping[UUID, PolicyVersion]
) -> Said | None:
    clause = clause_of(
        terminal_reason=row["terminal_reason"],
        stop_reason=row["stop_reason"],
        error_type=row["error_type"],
        resolved_by=(row["resolved_by"] or "") if row["terminal_reason"] in ASKED else "",
    )
    if clause is None or _value(row, clause) == "retry":
        return None
    stored = row["policy_sources"]
    if stored is None:
        stored = stored_before(row["overrides"], versions.get(row["policy_version"]), "")
    if clause not in stored["fields"]:
        return Said(clause, "default")
    layer = stored["layers"][stored["fields"][clause]]
    policy = next((p for p in policies.values() if p.name == layer["policy"]), None)
    return Said(clause, layer["level"], layer["policy"], policy.pk if policy else None)


def _value(row: Mapping[str, Any], clause: str) -> Any:
    part, _, name = clause.partition(".")
    if part == "criteria":
        return row["policy"].get("criterion_specs", [])
    return row["policy"].get(part, {}).get(name) if name else row["policy"].get(part)


def _add(line: Line, row: Mapping[str, Any]) -> None:
    line.turns += 1
    line.since += line.setting is not None and row["created_at"] >= line.setting.at
    line.output_tokens += row["output_tokens"]
    line.unanswered += not row["said"]
    spent = line.spent[row["provider"], row["model"]]
    spent[0] += row["input_tokens"]
    spent[1] += row["output_tokens"]
    if len(line.examples) < EXAMPLES:
        line.examples.append(row["id"])


def _silent(settings: Mapping[UUID, Mapping[str, Setting]], lines: Iterable[Said]) -> Iterator[Setting]:
    stopped = {(said.policy_id, said.field) for said in lines}
    for policy_id, said in settings.items():
        yield from (setting for name, setting in said.items() if (policy_id, name) not in stopped)
