"""Conversations made, and their budgets set. Their turns are started by `live.services.turn_start`."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from dashboard.accounts.models import User
from dashboard.agents.models import Agent
from dashboard.live import conversation_queue
from dashboard.live.services import turn_start
from dashboard.platform.notifications import announce_created
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Turn

MAX_BUDGET = 10_000_000_000  #: tokens


def conversation_start(
    *, agent: Agent, token_budget: int | None = None, created_by: User | None = None
) -> Conversation:
    """A conversation without turns yet. Raises `ValidationError`."""
    return Conversation.objects.create(
        project=agent.project,
        agent=agent,
        agent_name=agent.name,
        token_budget=budget_clean(token_budget),
        created_by=created_by,
    )


@transaction.atomic
def prompt_send(
    *,
    agent: Agent,
    conversation: Conversation | None,
    input_text: str,
    overrides: Mapping[str, Any],
    token_budget: int | None = None,
    created_by: User | None = None,
) -> Turn:
    """A turn of this conversation, or the first of a new one with this budget. Raises `ValidationError`."""
    talk = conversation or conversation_start(agent=agent, token_budget=token_budget, created_by=created_by)
    return turn_start(agent=agent, input_text=input_text, overrides=overrides, created_by=created_by, conversation=talk)


@transaction.atomic
def budget_set(*, conversation: Conversation, token_budget: int | None) -> None:
    """Raise or lower the budget, or take it away (None). It counts from the next turn on. Raises `ValidationError`."""
    budget = budget_clean(token_budget)
    held = Conversation.objects.select_for_update(no_key=True).get(pk=conversation.pk)
    used = conversation_queue.used_of(held)
    if budget is not None and budget < used:
        raise ValidationError({"token_budget": f"{used:,} tokens are already used, so the budget cannot be lower."})
    held.token_budget = conversation.token_budget = budget
    held.save(update_fields=["token_budget"])
    newest = held.turns.order_by("-position").values_list("pk", flat=True).first()
    if newest is not None:
        transaction.on_commit(lambda: announce_created(newest))


def budget_clean(value: Any) -> int | None:
    """Tokens, 1 or more; None: no budget."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_BUDGET:
        words = (
            f"Conversation budget must be a whole number of tokens from 1 to {MAX_BUDGET:,}. Leave empty for no budget."
        )
        raise ValidationError({"token_budget": words})
    return value
