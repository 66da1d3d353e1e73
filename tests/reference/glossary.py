"""docs/reference/glossary.md, from the terms of the pages: `python -m tests.reference.glossary > that file`."""

import sys
from collections.abc import Iterator, Mapping

from dashboard.turns.glossary import CERTAINTIES, LIMITS, READINGS, SETTINGS, TERMS, Term

_HEAD = """# Glossary

The terms of the pages, the API and the documents. A limit has one name on pages, and a key in code, the API and
policies. *Specification* means the documents that Whystop implements ([conformance](conformance.md)).

This page is generated from `dashboard/turns/glossary.py`; a test fails while it is not current. To generate it again:
`python -m tests.reference.glossary > docs/reference/glossary.md`.
"""


def page() -> str:
    """The text of docs/reference/glossary.md."""
    return "\n".join(
        (
            _HEAD,
            *_limits(),
            *_terms("Other settings of a policy", SETTINGS),
            *_terms("Terms", TERMS),
            *_terms("How a turn ended", READINGS),
            *_terms("How certain a result is", CERTAINTIES),
        )
    )


def _limits() -> Iterator[str]:
    yield from ("## Limits", "", "| limit and key | meaning | default |", "|---|---|---|")
    for key, term in LIMITS.items():
        spec = f" In the specification: `{term.spec}`." if term.spec else ""
        default = f"{term.default} ({term.unit})" if term.unit else term.default
        yield f"| {term.name}, `{key}` | {term.meaning}{spec} | {default} |"
    yield ""


def _terms(title: str, terms: Mapping[str, Term]) -> Iterator[str]:
    yield from (f"## {title}", "", "| term | meaning |", "|---|---|")
    yield from (f"| {term.name} | {term.meaning} |" for term in terms.values())
    yield ""


if __name__ == "__main__":
    sys.stdout.write(page())
