"""docs/reference/conformance.md, made from the marks on the tests.

To make it anew: `python -m tests.spec.conformance > docs/reference/conformance.md`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from agentcore.providers import get_provider
from tests.spec.decided_otherwise import DECIDED_OTHERWISE
from tests.spec.rules import DOCUMENTS, Kind, Rule, rules_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "reference" / "conformance.md"

#: The canonical words of a chat completion's end (finish-reason-canonicalization), each with what it needs beside it.
CANONICAL = {
    "stop": "with a tool call, as forced tools answer, it is a `tool_call`",
    "length": "a block or an error outweighs it; tool calls do not",
    "tool_calls": "without a call it is an `end_turn`",
    "content_filter": "the text is withheld from the answer",
    "function_call": "legacy; `message.function_call` is read as one tool call",
}


@dataclass(frozen=True, slots=True)
class Proof:
    """A rule and the test that shows it kept. `file` is relative to the checkout."""

    rule: Rule
    file: str
    test: str


def proofs() -> list[Proof]:
    """Every mark on every test of this folder, in the order of files and lines."""
    found = []
    for path in sorted(HERE.rglob("test_*.py")):
        file = path.relative_to(ROOT)
        module = import_module(".".join(file.with_suffix("").parts))
        for name, test in vars(module).items():
            if name.startswith("test_"):
                found += [Proof(rule, file.as_posix(), name) for rule in rules_of(test)]
    return found


def page() -> str:
    """The text of docs/reference/conformance.md."""
    shown = proofs()
    kinds = Counter(proof.rule.kind for proof in shown)
    counted = ", ".join(f"{kinds[kind]} {kind}" for kind in Kind)
    return (
        "# Conformance\n\n"
        f"{len(shown)} rules of the five documents in `spec/` ({counted}), each with the test that checks it.\n\n"
        "The page is generated from the marks on the tests in `tests/spec/`; a test checks that it is current. "
        "To generate it again: `python -m tests.spec.conformance > docs/reference/conformance.md`.\n\n"
        + "\n".join([*_documents(shown), *_decisions(), *_matrix()])
    )


def _documents(shown: list[Proof]) -> Iterator[str]:
    for name, document in DOCUMENTS.items():
        ours = [proof for proof in shown if proof.rule.document == name]
        yield f"## {document.file} ({len(ours)})\n"
        for section in document.sections:
            rows = [_row(proof) for proof in ours if proof.rule.section == section]
            if rows:
                yield f"### §{section}\n\n| rule | kind | test |\n|---|---|---|"
                yield "\n".join(rows) + "\n"


def _row(proof: Proof) -> str:
    link = f"[{proof.test}](../../{proof.file})"
    return f"| {_cell(proof.rule.sentence)} | {proof.rule.kind} | {link} |"


def _decisions() -> Iterator[str]:
    yield "## Decided otherwise\n"
    yield "The design differs from a document here, or decides what the document leaves open.\n"
    yield "| document | it says | Whystop | design |\n|---|---|---|---|"
    for one in DECIDED_OTHERWISE:
        yield f"| {one.place} | {_cell(one.said)} | {_cell(one.holds)} | {one.design} |"
    yield ""


def _matrix() -> Iterator[str]:
    """The matrix that finish-reason-canonicalization asks the documentation for, from the codec's own table."""
    normalize = get_provider("openai").normalize
    yield "## Finish reasons of chat completions\n"
    yield "| finish_reason | normalized | note |\n|---|---|---|"
    for word, note in CANONICAL.items():
        yield f"| `{word}` | `{normalize(word)}` | {note} |"
    yield "| any other, or none | `unknown` | kept unchanged; logged once per provider and model |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    import os
    import sys

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    django.setup()
    sys.stdout.write(page())
