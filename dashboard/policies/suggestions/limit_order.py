"""Turns in the order of the limit that would have sufficed: limit by limit, each by its value."""

from collections.abc import Collection, Mapping
from uuid import UUID

from agentcore.policy import LIMIT_NAMES
from dashboard.policies.suggestions.list_suggestions import suggestions_lately
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.turns.sort_order import Place

_LIMITS = tuple(LIMIT_NAMES)  #: what counts in one unit stands together, in the order in which people are shown limits


def limit_orders(ids: Collection[UUID]) -> Mapping[UUID, Place | None]:
    """By turn; None where no limit is missing. The history of each turn is read. A limit of which no value is known
    comes after those that have one."""
    return {turn_id: _order(said) for turn_id, said in suggestions_lately(ids).items()}


def _order(said: Suggestion | None) -> Place | None:
    if said is None:
        return None
    limit = f"{_LIMITS.index(said.limit):02d}"
    return (0, f"{limit} {said.value:020.3f}") if said.sufficient else (1, limit)
