"""Turns in the order of the limit that would have sufficed: by its key, then by its value."""

from collections.abc import Collection, Mapping
from uuid import UUID

from dashboard.policies.suggestions.list_suggestions import suggestions_lately
from dashboard.policies.suggestions.suggestion import Suggestion


def limit_orders(ids: Collection[UUID]) -> Mapping[UUID, str | None]:
    """By turn; None where no limit is missing, or none is known. The history of each turn is read."""
    return {turn_id: _order(said) for turn_id, said in suggestions_lately(ids).items()}


def _order(said: Suggestion | None) -> str | None:
    return f"{said.limit} {said.value:020.3f}" if said and said.known else None
