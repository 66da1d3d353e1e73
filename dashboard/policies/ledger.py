"""For every number that stopped turns: who set it so, when, and how many turns it stopped since, at what cost.

A stop is charged to what the version said that its turn ran under, also where the policy was set otherwise since, and
where another version counted already. Where no policy set the number, each value has a line of its own. Re-runs do not
count, as in a backtest: whoever runs a turn again chose its limits. Limits that no policy sets have their lines, too:
the counts are those of the facet *Limit reached*, but for re-runs.

Counted are the newest stops of a period, up to `MOST`; the page says where there were more. Prices are list prices of
all tokens of a turn as if they were one call: an estimate, and said to be.

Also holds one line of the ledger: whose word stopped turns, since it was set so, and what those turns had cost.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Length

from agentcore.messages import TokenUsage
from agentcore.resource import APPROVAL_SECONDS
from dashboard.agents.models import Policy, PolicyVersion, Project
from dashboard.agents.observe_policy import is_observed
from dashboard.agents.policy_resolution import Level
from dashboard.agents.samples import agents_on_simulator
from dashboard.agents.selectors import policy_list
from dashboard.platform.ids import first_id_at
from dashboard.policies.field_settings import History, Setting, ended_at, history_of, in_force, set_by
from dashboard.policies.field_sources import stored_before
from dashboard.policies.field_text import LEVEL_WORDS, label_of, value_in_words
from dashboard.policies.stop_setting import (
    ASKED,
    NOT_OF_POLICIES,
    OPERATOR,
    TERMINAL,
    Changes,
    changes_of,
    clause_of,
)
from dashboard.turns.models import Cohort, Outcome, Turn
from dashboard.turns.prices.rates import Price, priced, rate_of
from dashboard.turns.provider_words import is_of_simulator

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class LimitSetting:
    """Whose word stopped turns: a field at a level, of a policy or of nobody (a default, or turns' own overrides)."""

    field: str
    level: str
    policy: str = ""
    policy_id: UUID | None = None
    since: datetime | None = None  #: when it was set to what it said then
    value: str = ""  #: what it said, in words, where no policy has set it: turns' own overrides differ from each other


@dataclass(slots=True)
class LedgerLine:
    """One line of the ledger, added up turn by turn."""

    said: LimitSetting
    setting: Setting | None = None
    ended: datetime | None = None  #: when it was set otherwise again; None: it still says so
    output_tokens: int = 0
    unanswered: int = 0  #: turns of which nothing at all was left
    #: tokens by provider and model, but those of the simulator, which is free
    spent: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    turn_ids: list[UUID] = field(default_factory=list)  #: the newest first

    @property
    def turns(self) -> int:
        return len(self.turn_ids)

    @property
    def examples(self) -> list[UUID]:
        return self.turn_ids[:EXAMPLES]

    @property
    def query(self) -> str:
        """What the address of its turns says, beside the days."""
        said = self.said
        since = said.since.isoformat() if said.since else ""
        query = {"field": said.field, "level": said.level, "policy": said.policy_id or "", "since": since}
        return urlencode({**query, "value": said.value})

    @property
    def was(self) -> str:
        """The query of a what-if under the number it was before; empty where there was none."""
        before = self.setting.was if self.setting else None
        return "" if before is None else urlencode({self.said.field.partition(".")[2]: before})

    @property
    def label(self) -> str:
        return label_of(self.said.field)

    @property
    def shown(self) -> str:
        """What it said."""
        return value_in_words(self.said.field, self.setting.value) if self.setting else self.said.value

    @property
    def words(self) -> str:
        return LEVEL_WORDS[self.said.level]

    @property
    def cut_short(self) -> int:
        """Turns that ended with only part of an answer."""
        return self.turns - self.unanswered

    @property
    def free(self) -> bool:
        """Whether the simulator was called by all of these turns."""
        return not self.spent

    @property
    def price(self) -> Price | None:
        """What these turns cost; None where some of their models' prices are not known."""
        each = [
            priced(rate_of(provider=provider, model=model), [TokenUsage(taken, given)], estimated=True)
            for (provider, model), (taken, given) in self.spent.items()
        ]
        known = [price for price in each if price is not None]
        if not known or len(known) < len(each):
            return None
        return Price(sum((price.dollars for price in known), start=known[0].dollars * 0), True, known[0].basis)


MOST = 10_000  #: stops that are read
#: Why the agent stopped, where a field of a policy may have been the cause.
STOPS = ("retry_limit", "token_limit", "guard", "error", "steps_limit", "time_limit", "finish_reason")


@dataclass(frozen=True, slots=True)
class Ledger:
    """The lines, those that stopped most turns first. `capped`: there were more stops than were read."""

    lines: tuple[LedgerLine, ...]
    stops: int
    capped: bool
    silent: tuple[Setting, ...]  #: what is said and has stopped nothing


def ledger_of(project: Project, *, since: datetime, now: datetime) -> Ledger:
    """The stops since then, by whose word it was."""
    rows = _rows(project, since)
    policies = {policy.pk: policy for policy in policy_list(project=project)}
    lines: dict[LimitSetting, LedgerLine] = {}
    histories = {policy_id: history_of(policy, at=now) for policy_id, policy in policies.items()}
    before = {row["policy_version"] for row in rows if row["policy_sources"] is None} - {None}
    versions = PolicyVersion.objects.select_related("policy").in_bulk(before)
    acted = changes_of(row["id"] for row in rows[:MOST])
    on_simulator = frozenset(agents_on_simulator(project=project))
    stops = 0
    for row in rows[:MOST]:
        found = _said(row, policies, versions, acted)
        if found is None:
            continue
        stops += 1
        said, version_id = found
        history = histories.get(said.policy_id, ()) if said.policy_id else ()
        changed = acted.get((row["id"], said.field))
        value = changed.value if changed else _value(row, said.field)
        setting = set_by(history, version_id, said.field, value, row["created_at"]) if version_id else None
        words = "" if setting else value_in_words(said.field, value)
        said = replace(said, since=setting.at if setting else None, value=words)
        if said not in lines:
            ended = ended_at(history, setting) if setting else None
            lines[said] = LedgerLine(said, setting, ended)
        _add(lines[said], row, on_simulator)
    ordered = sorted(lines.values(), key=lambda line: -line.turns)
    return Ledger(tuple(ordered), stops, len(rows) > MOST, tuple(_silent(histories, lines, now)))


def _rows(project: Project, since: datetime) -> list[Mapping[str, Any]]:
    last = Outcome.objects.filter(turn_id=OuterRef("id")).order_by("-seq", "-position").values("resolved_by")[:1]
    by_limit = Q(resource__isnull=False) | Q(stop_reason__in=STOPS, terminal_reason__in=TERMINAL)
    cohorts = Cohort.objects.filter(by_limit, project=project).values("id")
    turns = Turn.objects.filter(cohort__in=cohorts, id__gte=first_id_at(since), parent__isnull=True)
    found = turns.annotate(resolved_by=Subquery(last), said=Length("output_text")).order_by("-id")
    rows = list(found.values(*COLUMNS, "resolved_by", "said")[: MOST + 1])
    begun = {row["id"] for row in rows if row["resource"] in IN_SETUP}
    setups = dict(Turn.objects.filter(id__in=begun).values_list("id", "setup")) if begun else {}
    return [{**row, "setup": setups.get(row["id"])} for row in rows]


#: Where a turn's setup has a limit that no policy sets.
IN_SETUP: Mapping[str, tuple[str, ...]] = {
    "max_output_tokens": ("ceiling",),
    APPROVAL_SECONDS: ("approvals", "seconds"),
}


COLUMNS = (
    "id",
    "created_at",
    "terminal_reason",
    "stop_reason",
    "model_stop_reason",
    "agent_name",
    "error_type",
    "resource",
    "max_tokens",
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
    row: Mapping[str, Any], policies: Mapping[UUID, Policy], versions: Mapping[UUID, PolicyVersion], acted: Changes
) -> tuple[LimitSetting, UUID | None] | None:
    """Whose word it was, and by which version; None where no limit and no word of a policy ended the turn."""
    if (level := NOT_OF_POLICIES.get(row["resource"])) is not None:
        return LimitSetting(row["resource"], level), None
    clause = clause_of(
        terminal_reason=row["terminal_reason"],
        stop_reason=row["stop_reason"],
        error_type=row["error_type"],
        resolved_by=(row["resolved_by"] or "") if row["terminal_reason"] in ASKED else "",
        resource=row["resource"],
        observed=is_observed(row["policy"]),
    )
    if clause is None:
        return None
    changed = acted.get((row["id"], clause))
    if (changed.value if changed else _value(row, clause)) == "retry":
        return None
    if changed:
        return LimitSetting(clause, OPERATOR), None
    stored = row["policy_sources"]
    if stored is None:
        stored = stored_before(row["overrides"], versions.get(row["policy_version"]), "")
    if clause not in stored["fields"]:
        return LimitSetting(clause, "default"), None
    layer = stored["layers"][stored["fields"][clause]]
    if layer["level"] == Level.WATCHED:
        return None
    policy = next((p for p in policies.values() if p.name == layer["policy"]), None)
    version_id = UUID(layer["version_id"]) if layer["version_id"] else None
    return LimitSetting(clause, layer["level"], layer["policy"], policy.pk if policy else None), version_id


def _value(row: Mapping[str, Any], clause: str) -> Any:
    if clause in IN_SETUP:
        return _at((row["setup"] or {}).get("setup"), IN_SETUP[clause])
    if clause in NOT_OF_POLICIES:
        return row[clause]
    part, _, name = clause.partition(".")
    if part == "criteria":
        return row["policy"].get("criterion_specs", [])
    return row["policy"].get(part, {}).get(name) if name else row["policy"].get(part)


def _at(held: Any, path: Iterable[str]) -> Any:
    """What a setup has there; None where it has nothing, or was damaged."""
    for name in path:
        held = held.get(name) if isinstance(held, Mapping) else None
    return held


def _add(line: LedgerLine, row: Mapping[str, Any], on_simulator: Collection[str]) -> None:
    line.turn_ids.append(row["id"])
    line.output_tokens += row["output_tokens"]
    line.unanswered += not row["said"]
    answered = row["model_stop_reason"] is not None
    if is_of_simulator(row["model"], row["agent_name"], answered=answered, on_simulator=on_simulator):
        return
    spent = line.spent[row["provider"], row["model"]]
    spent[0] += row["input_tokens"]
    spent[1] += row["output_tokens"]


def _silent(histories: Mapping[UUID, History], lines: Iterable[LimitSetting], now: datetime) -> Iterator[Setting]:
    stopped = {(said.policy_id, said.field) for said in lines}
    for policy_id, history in histories.items():
        said = in_force(history, now)
        yield from (setting for name, setting in said.items() if (policy_id, name) not in stopped)
