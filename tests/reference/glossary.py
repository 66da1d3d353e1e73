"""docs/reference/glossary.md, from the terms of the pages: `python -m tests.reference.glossary > that file`."""

import sys
from collections.abc import Iterator, Mapping

from dashboard.turns.glossary import CERTAINTIES, LIMITS, TERMS, Term

_HEAD = """# Glossary

The terms of the pages, the API and the documents. Made from `dashboard/turns/glossary.py`; a test fails while this
page is not current. To make it anew: `python -m tests.reference.glossary > docs/reference/glossary.md`.
"""


def page() -> str:
    """The text of docs/reference/glossary.md."""
    return "\n".join((_HEAD, *_limits(), *_terms("Terms", TERMS), *_terms("How certain an answer is", CERTAINTIES)))


def _limits() -> Iterator[str]:
    yield from ("## Limits", "", "| limit | key | meaning | default | in the specification |", "|---|---|---|---|---|")
    for key, term in LIMITS.items():
        default = f"{term.default} ({term.unit})" if term.unit else term.default
        yield f"| {term.name} | `{key}` | {term.meaning} | {default} | {f'`{term.spec}`' if term.spec else ''} |"
    yield ""


def _terms(title: str, terms: Mapping[str, Term]) -> Iterator[str]:
    yield from (f"## {title}", "", "| term | meaning |", "|---|---|")
    yield from (f"| {term.name} | {term.meaning} |" for term in terms.values())
    yield ""


if __name__ == "__main__":
    sys.stdout.write(page())
