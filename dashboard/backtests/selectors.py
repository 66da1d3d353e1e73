"""Reads of backtests."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from dashboard.agents.models import Policy, PolicyAttachment, Project
from dashboard.agents.selectors import agents_under
from dashboard.backtests.models import Backtest
from dashboard.turns.models import Cohort, Turn

#: What no sentence about a backtest asks for, and may be large.
LARGE = ("flips", "flipped_turns")
OFFERED = 200  #: words of each kind to choose from
KEYS = (
    "status",
    "total",
    "done",
    "same",
    "flipped",
    "undecidable",
    "tokens_delta",
    "calls_delta",
    "seconds_delta",
    "dollars_delta",
    "unpriced",
    "flipped_turns",
    "flips",
    "groups",
    "max_tokens",
)


def backtest_get(backtest_id: UUID) -> Backtest:
    """Raises `DoesNotExist`."""
    return Backtest.objects.select_related("project", "stands_for").get(pk=backtest_id)


def backtest_list(*, project: Project) -> QuerySet[Backtest]:
    """The newest first, without what may be large."""
    return Backtest.objects.filter(project=project).select_related("stands_for").order_by("-id").defer(*LARGE)


def backtest_shown(backtest: Backtest) -> dict[str, Any]:
    """As the API tells it."""
    stands_for = backtest.stands_for.name if backtest.stands_for else None
    return {**{key: getattr(backtest, key) for key in KEYS}, "stands_for": stands_for}


def words_of_turns(*, project: Project) -> dict[str, list[str]]:
    """The agents, providers and models that turns are known of, by filter."""
    columns = {"agent": "agent_name", "provider": "provider", "model": "model"}
    rows = Cohort.objects.filter(project=project)
    return {
        name: [word for word in rows.order_by(column).values_list(column, flat=True).distinct()[:OFFERED] if word]
        for name, column in columns.items()
    }


def turns_where(*, policy: Policy) -> dict[str, list[str]]:
    """The filter for the turns a policy counts for; empty where that takes more than one, or it counts nowhere."""
    agents = [agent.name for agent in agents_under(policy=policy)]
    places = list(PolicyAttachment.objects.filter(policy=policy))
    kinds = {"agent": agents, "model": [p.model for p in places if p.model]}
    kinds["provider"] = [place.provider for place in places if place.provider]
    found = {name: sorted(set(words)) for name, words in kinds.items() if words}
    everywhere = any(not place.model and not place.provider for place in places)
    return found if len(found) == 1 and not everywhere else {}


def turns_asked(turn_ids: Iterable[UUID]) -> dict[UUID, str]:
    """What each of these turns was asked."""
    return dict(Turn.objects.filter(id__in=turn_ids).values_list("id", "input_text"))
