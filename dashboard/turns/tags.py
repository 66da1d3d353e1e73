"""Tags: an operator's own words on turns. They are no part of a turn's history."""

from collections.abc import Iterable

from django.core.exceptions import ValidationError

MOST_TAGS = 20  #: on one turn
MOST_CHARACTERS = 64


def tags_clean(given: Iterable[str]) -> tuple[str, ...]:
    """Each tag once, trimmed, in the order given. Raises `ValidationError` in words."""
    tags = tuple(dict.fromkeys(tag.strip() for tag in given))
    for tag in tags:
        if not is_tag(tag):
            raise ValidationError(f"A tag must have 1 to {MOST_CHARACTERS} printable characters.")
    if len(tags) > MOST_TAGS:
        raise ValidationError(f"A turn has at most {MOST_TAGS} tags; these are {len(tags)}.")
    return tags


def is_tag(text: str) -> bool:
    """Whether a text can be a tag as it is."""
    return bool(text) and text == text.strip() and len(text) <= MOST_CHARACTERS and text.isprintable()
