"""Reads of what is under way: who waits in line for a connection."""

from uuid import UUID

from dashboard.live.models import CallSlot

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def waiting_words(turn_id: UUID) -> str | None:
    """Where a turn stands in line, as “waiting for a slot of connection near, 3rd in line”; None where it does not."""
    own = CallSlot.objects.filter(turn_id=turn_id, granted_at=None).select_related("connection").first()
    if own is None:
        return None
    before = CallSlot.objects.filter(connection=own.connection_id, granted_at=None, id__lt=own.id).count()
    return f"waiting for a slot of connection {own.connection.name}, {_ordinal(before + 1)} in line"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, "th")
    return f"{number:,}{ending}"
