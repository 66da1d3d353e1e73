"""Conversations as they stand. What is not there raises the model's `DoesNotExist`."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from dashboard.agents.models import Project
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Turn
from dashboard.turns.selectors import UNLISTED

DEFAULT_LIMIT, MAX_LIMIT = 50, 200


def conversation_get(conversation_id: UUID, *, project: Project) -> Conversation:
    return Conversation.objects.get(pk=conversation_id, project=project)


def conversation_rows(*, project: Project, agent_name: str | None = None) -> QuerySet[Conversation]:
    """Of one agent, or of all."""
    named = Q() if agent_name is None else Q(agent_name=agent_name)
    return Conversation.objects.filter(named, project=project)


def told(conversations: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """Newest first, each with its `used` tokens and the ids of its turns in order, `turn_ids` (None: no turn yet)."""
    in_turn = ArrayAgg("turns__id", filter=Q(turns__isnull=False), order_by="turns__position")
    return conversations.annotate(used=Coalesce(Sum("turns__tokens"), 0), turn_ids=in_turn).order_by("-id")


def conversation_shown(conversation_id: UUID, *, project: Project) -> Conversation:
    """One, as `told` has it."""
    return told(Conversation.objects.filter(project=project)).get(pk=conversation_id)


def as_shown(conversation: Any) -> dict[str, Any]:
    """As the API tells it; `conversation` is one of `told`."""
    return {
        "id": conversation.id,
        "agent": conversation.agent_name,
        "title": conversation.title,
        "token_budget": conversation.token_budget,
        "used_tokens": conversation.used,
        "turns": conversation.turn_ids or [],
    }


def titled(*, agent_id: UUID, limit: int) -> Sequence[Conversation]:
    """The agent's conversations that have begun, newest first."""
    begun = Conversation.objects.filter(agent=agent_id).exclude(title="")
    return list(begun.annotate(used=Coalesce(Sum("turns__tokens"), 0), last=F("id")).order_by("-id")[:limit])


class TurnPlace(NamedTuple):
    """A turn in its conversation: what tells whether anything about it has changed."""

    id: UUID
    position: int
    seq: int
    status: str
    tokens: int


def places_of(conversation: Conversation) -> list[TurnPlace]:
    """All its turns in order, by what is cheap to read."""
    turns = Turn.objects.filter(conversation=conversation).order_by("position")
    rows = turns.values_list("id", "position", "last_seq", "status", "tokens")
    return [TurnPlace(turn, position or 0, seq, status, tokens) for turn, position, seq, status, tokens in rows]


def turns_at(places: Iterable[TurnPlace]) -> list[Turn]:
    """The turns there, in order, without what may be large and no list shows."""
    turns = Turn.objects.filter(pk__in=[place.id for place in places])
    return list(turns.defer(*UNLISTED).order_by("position"))
