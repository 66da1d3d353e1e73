"""Reads of backtests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from dashboard.agents.models import Agent, Policy, PolicyAttachment, Project
from dashboard.agents.selectors import agents_under
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.tallies import Group, by_frequency
from dashboard.policies.backtests.tried_versions import TriedVersion, tried_versions
from dashboard.turns.filters import MAX_VALUES
from dashboard.turns.models import Cohort, Turn
from dashboard.turns.provider_words import UNANSWERED, providers_in, simulated, stored

#: What no sentence about a backtest asks for, and may be large.
LARGE = ("flips", "flipped_turns", "unended_turns", "undecided")
OFFERED = 200  #: words of each kind to choose from
KEYS = (
    "status",
    "total",
    "done",
    "same",
    "flipped",
    "undecidable",
    "recorded",
    "certain",
    "estimated",
    "tokens_delta",
    "calls_delta",
    "seconds_delta",
    "dollars_delta",
    "unpriced",
    "flipped_turns",
    "unended_turns",
    "undecided",
    "flips",
    "groups",
    "max_tokens",
    "keeps_overrides",
)


def backtest_get(backtest_id: UUID, *, project: Project) -> Backtest:
    """Raises `DoesNotExist`."""
    return Backtest.objects.select_related("project", "stands_for").get(pk=backtest_id, project=project)


def backtest_list(*, project: Project) -> QuerySet[Backtest]:
    """The newest first, without what may be large."""
    return Backtest.objects.filter(project=project).select_related("stands_for").order_by("-id").defer(*LARGE)


def backtest_shown(backtest: Backtest) -> dict[str, Any]:
    """The backtest as the API returns it."""
    stands_for = backtest.stands_for.name if backtest.stands_for else None
    about = any(Group.stored(group).is_about for group in backtest.groups)
    told = {key: getattr(backtest, key) for key in KEYS} | _apart(backtest)
    told["groups"] = [{**group, "undecidable": group["undecidable"] - _unended(group)} for group in backtest.groups]
    apart = {"whys": whys_of(backtest), "tokens_estimated": about, "stands_for": stands_for}
    return {**told, **apart, "tried": _tried(backtest, tried_versions([backtest]))}


def _tried(backtest: Backtest, found: Mapping[UUID, TriedVersion]) -> dict[str, Any] | None:
    tried = found.get(backtest.pk)
    return tried.as_dict() if tried else None


def _unended(group: Mapping[str, Any]) -> int:
    count: int = group.get("unended", 0)
    return count


def _apart(backtest: Backtest) -> dict[str, int]:
    """Those of unknown end and the undecidable, which are stored as one count, as two."""
    unended = sum(map(_unended, backtest.groups))
    return {"undecidable": backtest.undecidable - unended, "unended": unended}


def whys_of(backtest: Backtest) -> dict[str, int] | None:
    """Its undecidable turns by reason, the most frequent first; None where some reasons were not counted."""
    whole = Group("", "")
    for group in backtest.groups:
        whole.add(Group.stored(group))
    return None if whole.whys is None else by_frequency(whole.whys)


def backtest_summaries(backtests: Sequence[Backtest]) -> list[dict[str, Any]]:
    """Backtests in a list: without their turns and groups."""
    found = tried_versions(backtests)
    return [{**_summary(backtest), "tried": _tried(backtest, found)} for backtest in backtests]


def _summary(backtest: Backtest) -> dict[str, Any]:
    told = {key: getattr(backtest, key) for key in KEYS if key not in {*LARGE, "groups"}} | _apart(backtest)
    stands_for = backtest.stands_for.name if backtest.stands_for else None
    return {**told, "id": backtest.id, "created_at": backtest.created_at, "stands_for": stands_for}


def words_of_turns(*, project: Project) -> dict[str, list[str]]:
    """The agents, providers and models that turns are known of, by filter."""
    columns = {"agent": "agent_name", "model": "model"}
    rows = Cohort.objects.filter(project=project)
    found = {
        name: [word for word in rows.order_by(column).values_list(column, flat=True).distinct()[:OFFERED] if word]
        for name, column in columns.items()
    }
    of_simulator = simulated(project, unanswered=UNANSWERED)
    return {**found, "provider": providers_in(rows, of_simulator=of_simulator, most=OFFERED)}


@dataclass(frozen=True, slots=True)
class TurnScope:
    """The turns a policy counts for. `filter`: of the timeline; empty where one filter does not find them, or it counts
    nowhere. `words`: where that is."""

    filter: dict[str, list[str]]
    words: str = ""


def turns_where(*, policy: Policy) -> TurnScope:
    """What the agents, models or providers that a policy counts for are found by."""
    agents = [agent.name for agent in agents_under(policy=policy)]
    places = list(PolicyAttachment.objects.filter(policy=policy).select_related("connection"))
    at_models = [place for place in places if place.connection is not None]
    providers = [place.provider for place in places if place.provider]
    found = [
        *([TurnScope({"agent": sorted(agents)}, _listed(agents))] if agents else []),
        *([TurnScope(_at_models(at_models), _listed(place.place for place in at_models))] if at_models else []),
        *([TurnScope({"provider": sorted(map(stored, providers))}, _listed(providers))] if providers else []),
    ]
    everywhere = len(places) > len(at_models) + len(providers)
    if len(found) != 1 or everywhere or any(len(words) > MAX_VALUES for words in found[0].filter.values()):
        return TurnScope({})
    return found[0]


def _at_models(places: Sequence[PolicyAttachment]) -> dict[str, list[str]]:
    """A model of a connection: asked by an agent there, or through the gateway as `connection/model`. Empty where the
    filter would find other models of these connections too."""
    pairs = {(place.connection, place.model) for place in places if place.connection is not None}
    connections, models = {connection for connection, _ in pairs}, {model for _, model in pairs}
    if len(pairs) < len(connections) * len(models):
        return {}
    asked = [f"{connection.name}/{model}" for connection, model in pairs]
    there = Agent.objects.filter(connection__in=connections).values_list("name", flat=True)
    return {"agent": sorted({*there, *asked}), "model": sorted(models)}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))


def turns_asked(turn_ids: Iterable[UUID]) -> dict[UUID, str]:
    """What each of these turns was asked."""
    return dict(Turn.objects.filter(id__in=turn_ids).values_list("id", "input_text"))
