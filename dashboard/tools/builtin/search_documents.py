"""Searching a turn's own documents: one pass over each, in passages, so that no text and no query takes long."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from dashboard.tools.registry import registry
from dashboard.tools.tool import Document, TurnContext

PASSAGE_CHARS = 500
MAX_TERMS = 16
MAX_TERM_CHARS = 64


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document: where it begins, and how often each term stands in it."""

    document: Document
    start: int  #: characters from the document's beginning
    line: int  #: from 1
    text: str
    counts: Counter[str]


@registry.tool(idempotent=True)
def search_documents(
    turn: TurnContext,
    query: Annotated[str, Field(description="Words to look for. Empty: the documents are listed.")] = "",
    most: Annotated[int, Field(ge=1, le=20, description="How many passages to return.")] = 5,
) -> dict[str, Any]:
    """Search the documents and messages of this conversation; returns the passages that fit best, with their places."""
    terms = _terms(query)
    found = [passage for document in turn.documents for passage in _passages(document, terms)] if terms else []
    ranked = _ranked(found, terms)
    answer: dict[str, Any] = {"passages": [_told(passage) for passage in ranked[:most]], "found": len(ranked)}
    if not ranked:
        answer["documents"] = [{"name": d.name, "characters": len(d.text)} for d in turn.documents]
    return answer


def _terms(query: str) -> list[str]:
    words = re.findall(r"\w+", query[: MAX_TERMS * MAX_TERM_CHARS].lower())
    return list(dict.fromkeys(word[:MAX_TERM_CHARS] for word in words))[:MAX_TERMS]


def _passages(document: Document, terms: Sequence[str]) -> Iterator[Passage]:
    """The passages in which a term stands."""
    line = 1
    for start, text in _pieces(document.text):
        lowered = text.lower()
        counts = Counter({term: found for term in terms if (found := lowered.count(term))})
        if counts:
            yield Passage(document, start, line, text, counts)
        line += text.count("\n")


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The text in pieces of at most `PASSAGE_CHARS`, ended at the last line, else the last word, that fits."""
    start = 0
    while start < len(text):
        end = min(len(text), start + PASSAGE_CHARS)
        if end < len(text):
            end = max(text.rfind("\n", start, end), text.rfind(" ", start + PASSAGE_CHARS // 2, end), start) + 1
            end = end if end > start + 1 else start + PASSAGE_CHARS
        yield start, text[start:end]
        start = end


def _ranked(passages: Sequence[Passage], terms: Sequence[str]) -> list[Passage]:
    """Best first: a rare term weighs more, and a repeated one less each time. Equal ones stay in their order."""
    among = Counter(term for passage in passages for term in passage.counts)
    weights = {term: math.log(1 + len(passages) / among[term]) for term in terms if among[term]}

    def weight(passage: Passage) -> float:
        return sum(weights[term] * (1 + math.log(count)) for term, count in passage.counts.items())

    return sorted(passages, key=weight, reverse=True)


def _told(passage: Passage) -> dict[str, Any]:
    end = passage.start + len(passage.text)
    return {
        "document": passage.document.name,
        "line": passage.line,
        "characters": f"{passage.start}-{end}",
        "text": passage.text.strip(),
    }
