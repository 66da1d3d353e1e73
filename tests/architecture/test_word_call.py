"""One call of the model is a call, wherever people read of it; only field names, the database and its faults say
attempt."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.replay.comparison.turn_comparison import FIGURES

ROOT = Path(__file__).parents[2]
_WORD = re.compile(r"\battempts?\b(?!=)", re.IGNORECASE)
_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|FROM)\b")
#: Attributes of an element that people read or hear.
_READ = re.compile(r'\b(?:aria-label|title|placeholder|alt)="([^"]*)"')
_COUNTED = re.compile(r'counted:"([^"]*)"')
_MARKUP = re.compile(r"\{#.*?#\}|\{%\s*comment.*?endcomment\s*%\}|\{%.*?%\}|\{\{.*?\}\}|<code>.*?</code>", re.DOTALL)
_CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
#: Faults of stored histories and files, attempts to sign in, and texts about tables.
APART = (
    "dashboard/accounts/",
    "dashboard/bench/chaos/",
    "dashboard/ingest/turn_files/",
    "dashboard/turns/evidence.py",
    "dashboard/turns/recorder.py",
    "dashboard/turns/request_evidence.py",
    "dashboard/turns/seals/",
    "dashboard/turns/sql_views/",
    "dashboard/turns/verification.py",
)
#: Pages about the database and about faults of what it holds, what was written before, and the specifications' words.
DOCS_APART = (
    "architecture.md",
    "changelog.md",
    "explanation/durability.md",
    "explanation/evidence.md",
    "explanation/performance.md",
    "explanation/security.md",
    "explanation/storage.md",
    "how-to/sql.md",
    "reference/conformance.md",
    "reference/settings.md",
)
#: The place that explains the word.
GLOSSARY = "name it an attempt"


def read_in_template(text: str) -> Iterator[str]:
    """What a page shows of a template: its words, those of attributes, and units that are counted."""
    yield from _COUNTED.findall(text)
    plain = _MARKUP.sub(" ", text)
    yield from _READ.findall(plain)
    yield re.sub(r"<[^>]*>", " ", plain)


def read_in_python(tree: ast.Module, *, docstrings: bool) -> Iterator[str]:
    """Texts of more than one word, headings that a format pads, and docstrings where they are read."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
        elif not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in inner:
            continue
        elif " " in node.value.strip() and (docstrings or id(node) not in told):
            yield node.value


def says_attempt(text: str) -> bool:
    return bool(_WORD.search(_CODE.sub(" ", text))) and not _SQL.search(text) and GLOSSARY not in text


def test_no_template_calls_a_call_an_attempt():
    found = []
    for path in (ROOT / "templates").rglob("*"):
        if path.suffix in (".html", ".txt"):
            shown = read_in_template(path.read_text(encoding="utf-8"))
            found += [f"{path.relative_to(ROOT)}: {' '.join(text.split())}" for text in shown if says_attempt(text)]
    assert found == []


def test_no_text_of_the_programs_calls_a_call_an_attempt():
    found = []
    for path in (*(ROOT / "agentcore").rglob("*.py"), *(ROOT / "dashboard").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(APART) or "/migrations/" in name:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = read_in_python(tree, docstrings=name.startswith("dashboard/api/"))
        found += [f"{name}: {text}" for text in texts if says_attempt(text)]
    assert found == []


def test_no_document_calls_a_call_an_attempt():
    found = []
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").as_posix() if path.parent != ROOT else path.name
        if name not in DOCS_APART:
            text = path.read_text(encoding="utf-8")
            found += [f"{name}: {line}" for line in _CODE.sub(" ", text).splitlines() if says_attempt(line)]
    assert found == []


def test_a_comparison_counts_calls():
    assert [kind.name for kind in FIGURES if says_attempt(kind.name)] == []


@pytest.mark.parametrize(
    "template",
    ['{{ turn.attempts|counted:"attempt" }}', '<nav aria-label="Pages of attempts">', "<p>2 attempts</p>"],
)
def test_the_word_is_found_in_a_template(template: str):
    assert any(says_attempt(text) for text in read_in_template(template))


def test_field_names_are_no_words():
    template = '<b id="attempts">{{ attempt.index }}</b><a href="?attempts=2">{% term "attempt" "Calls" %}</a>'
    assert not any(says_attempt(text) for text in read_in_template(template))
    for text in ("turn=1 attempts=2", "the field `attempts`", "SELECT attempt, n FROM pieces"):
        assert not says_attempt(text), text
