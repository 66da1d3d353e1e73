"""Ids that sort by the time they were made: UUIDv7, as `uuid.UUID`. Histories are ordered and partitioned by them."""

from datetime import UTC, datetime
from uuid import UUID

from uuid_utils.compat import uuid7

UUID_OF_TIME = 7


def new_id() -> UUID:
    """A fresh UUIDv7."""
    return uuid7()


def first_id_at(moment: datetime) -> UUID:
    """The smallest id made at `moment` (aware) or later: ids of earlier milliseconds are less, all others are not."""
    milliseconds = int(moment.timestamp() * 1000)
    return UUID(int=milliseconds << 80)


def made_at(made: UUID) -> datetime | None:
    """When an id was made, to a millisecond; None where it does not tell."""
    return datetime.fromtimestamp((made.int >> 80) / 1000, UTC) if made.version == UUID_OF_TIME else None
