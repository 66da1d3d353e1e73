"""The search of the documents: sections in which every word occurs, headings before text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dashboard.documentation.contents import INDEX, Page, pages
from dashboard.documentation.markdown import Section, document_of

MOST = 30  #: sections shown
AROUND = 80  #: characters before the first word found, and twice as many after it


@dataclass(frozen=True, slots=True)
class Hit:
    """`marked`: pieces of the text around the first word found, each with whether it is such a word."""

    page: Page
    section: Section
    marked: tuple[tuple[str, bool], ...]


def hits_of(asked: str) -> list[Hit]:
    """The best sections for the words, at most `MOST`; none for no words."""
    words = asked.casefold().split()
    found = sorted(_found(words), key=lambda each: -each[0]) if words else []
    return [Hit(page, section, _marked(section.text, words)) for _, page, section in found[:MOST]]


def _found(words: list[str]) -> Iterator[tuple[int, Page, Section]]:
    """Sections with all words, each with how many of these stand in its heading and in the page's title."""
    for page in pages().values():
        for section in document_of(page).sections if page.name != INDEX else ():
            title, text = section.title.casefold(), section.text.casefold()
            if all(word in title or word in text for word in words):
                yield sum((word in title) + (word in page.title.casefold()) for word in words), page, section


def _marked(text: str, words: list[str]) -> tuple[tuple[str, bool], ...]:
    pattern = re.compile(f"({'|'.join(map(re.escape, words))})", re.IGNORECASE)
    first = pattern.search(text)
    place = first.start() if first else 0
    start = text.rfind(" ", 0, max(0, place - AROUND)) + 1
    stop = place + 2 * AROUND
    cut = f"{'…' if start else ''}{text[start:stop]}{'…' if stop < len(text) else ''}"
    return tuple((piece, bool(n % 2)) for n, piece in enumerate(pattern.split(cut)) if piece)
