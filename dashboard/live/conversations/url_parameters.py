"""Parses URL parameters: ids of conversations and turns, positions in a conversation."""

from uuid import UUID


def uuid_from(text: str | None) -> UUID | None:
    """None for what names nothing."""
    try:
        return UUID(text or "")
    except ValueError:
        return None


def number_from(text: str | None) -> int | None:
    """A position, from 1; None for what is none."""
    return int(text) or None if text and text.isascii() and text.isdigit() and len(text) < 6 else None
