"""Texts as people and models write them: paragraphs of the manual that comes with Python, in another order each time.

A text of made words does not do: in it nothing comes again as phrases do, so PostgreSQL could not compress it at all.
"""

import re
from functools import cache
from pydoc_data.topics import topics
from random import Random

_LEAST = 2_000  #: characters of a chapter, so that a text is about one thing


@cache
def _chapters() -> list[list[str]]:
    """The paragraphs of each."""
    return [re.split(r"\n\n+", text.strip()) for _, text in sorted(topics.items()) if len(text) >= _LEAST]


@cache
def _lengths() -> list[int]:
    return [len(chapter) for chapter in _chapters()]


def prose(seed: str, size: int) -> str:
    """As many characters of text; the same for the same seed, and for another one another text."""
    chance, text = Random(seed), ""  # noqa: S311 - no secret
    while len(text) < size:
        (chapter,) = chance.choices(_chapters(), _lengths())
        start = chance.randrange(len(chapter))
        paragraphs = chapter[start : start + 12]
        text += "\n\n".join(chance.sample(paragraphs, len(paragraphs))) + "\n\n"
    return text[:size]
