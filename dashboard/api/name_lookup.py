"""Finds a connection, policy or agent by name or id, as paths and bodies give either."""

from typing import TypeVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from agentcore.quoting import quoted
from dashboard.agents.named_models import Named

Row = TypeVar("Row", bound=Named)


def named(rows: QuerySet[Row], key: str) -> Row:
    """The row of this name, else of this id. Raises its `DoesNotExist`."""
    found = rows.filter(name=key).first() if "\x00" not in key else None
    return found or rows.get(pk=_id_of(key, rows.model))


def asked_for(rows: QuerySet[Row], key: str, field: str) -> Row:
    """The row a body's field names. Raises `ValidationError` in words."""
    try:
        return named(rows, key)
    except rows.model.DoesNotExist as error:
        word = rows.model._meta.verbose_name
        raise ValidationError(
            {field: f"There is no {word} {quoted(key)}; create it first, or choose another."}
        ) from error


def _id_of(key: str, model: type[Row]) -> UUID:
    try:
        return UUID(key)
    except ValueError as error:
        raise model.DoesNotExist(f"{model.__name__} matching query does not exist.") from error
