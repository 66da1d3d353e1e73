"""What addresses name: a conversation or a turn by id, a place in a conversation by number."""

from uuid import UUID


def uuid_of(text: str | None) -> UUID | None:
    """None for what names nothing."""
    try:
        return UUID(text or "")
    except ValueError:
        return None


def number_of(text: str | None) -> int | None:
    """A position, from 1; None for what is none."""
    return int(text) or None if text and text.isascii() and text.isdigit() and len(text) < 6 else None
