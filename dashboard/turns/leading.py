"""A verdict for the page: its first words get the colour and shape of the reason, and what it offers a link."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dashboard.turns.templatetags.reasons import reason_label

#: How verdicts begin.
BEGINNINGS = (
    "Completed",
    "Cut off",
    "Paused",
    "Stopped",
    "Failed",
    "Blocked",
    "Cancelled",
    "Interrupted",
    "Undecidable",
)
#: What a verdict offers, and the numbers of the what-if that shows it.
OFFERS: Mapping[str, Callable[[re.Match[str]], str]] = {
    r"With (?P<link>max_tokens ≥ (?P<number>[\d\u202f]+)) it would have taken one call\.": lambda found: (
        f"max_tokens={_plain(found)}"
    ),
    # As verdicts were written before, and are stored.
    r"With max_tokens ≥ (?P<number>[\d\u202f]+) .*?: (?P<link>try it)": lambda found: f"max_tokens={_plain(found)}",
    r"With (?P<number>[\d\u202f]+) continuations? it would .*?: (?P<link>re-run) to know": lambda found: (
        f"max_continuations={_plain(found)}"
    ),
}


@dataclass(frozen=True, slots=True)
class Leading:
    """A verdict in two parts; together they are the sentence, or the reason's label and the sentence."""

    first: str
    rest: str

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The rest as words and, where they offer something, the query of the what-if that shows it."""
        return tuple(_parts(self.rest))


def _plain(found: re.Match[str]) -> str:
    return found["number"].replace("\u202f", "")


def _parts(rest: str) -> Iterator[tuple[str, str]]:
    for pattern, query in OFFERS.items():
        if found := re.search(pattern, rest):
            start, end = found.span("link")
            yield rest[:start], ""
            yield rest[start:end], query(found)
            yield rest[end:], ""
            return
    yield rest, ""


def leading(verdict: str, reason: str) -> Leading:
    """Part a verdict after its first words; where these say nothing of the reason, its label stands before."""
    for beginning in BEGINNINGS:
        if verdict.startswith(beginning):
            return Leading(beginning, verdict[len(beginning) :])
    label = reason_label(reason)
    return Leading(f"{label[:1].upper()}{label[1:]}{':' if verdict else '.'}", f" {verdict}" if verdict else "")
