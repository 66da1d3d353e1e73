"""What people read has one apostrophe, the straight one, and one pair of quotation marks: “ ”.

Tests, templates, styles, scripts and documents alike. Data keeps the marks that others write: patterns that read them,
answers of models, sentences of Django.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = ("README.md", "CONTRIBUTING.md", "manage.py", "agentcore", "dashboard", "docs", "templates", "static")
KINDS = {".py", ".html", ".md", ".js", ".css", ".json"}
#: Modules that read or translate the marks of others, and one that speaks to a model.
OF_OTHERS = {
    "agentcore/incomplete_text.py",
    "agentcore/providers/wire/request_messages.py",
    "dashboard/agents/probes.py",
    "dashboard/gateway/serving/response_writer.py",
    "dashboard/tools/builtin/calculator.py",
}
APOSTROPHE = re.compile("[’‘]")
#: Words between straight quotation marks; in a document, outside code and the attributes of tags.
QUOTED = re.compile(r"(?<![\w=/(])\"[^\"\n]+(?:\n[^\"\n]+)?\"")
CODE = re.compile(r"```.*?```|`[^`]*`|<[^>]*>|^ {4}.*?$|\(spec: [^)]*\)", re.DOTALL | re.MULTILINE)


def files() -> list[Path]:
    places = [ROOT / name for name in READ]
    return [
        path
        for place in places
        for path in ([place] if place.is_file() else sorted(place.rglob("*")))
        if path.suffix in KINDS and "vendor" not in path.parts and path.relative_to(ROOT).as_posix() not in OF_OTHERS
    ]


def quoted(text: str) -> list[str]:
    return QUOTED.findall(CODE.sub(" ", text))


def test_every_apostrophe_is_straight():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if APOSTROPHE.search(line)
    ]
    assert found == []


def test_documents_quote_in_curly_marks():
    pages = [path for path in files() if path.suffix == ".md" and path.name != "library.md"]  # made from code
    assert {path.name: found for path in pages if (found := quoted(path.read_text()))} == {}


def sentences(source: str) -> list[str]:
    return [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and said(node.value)]


def said(value: object) -> bool:
    """Whether a text is a sentence with something in straight marks, and no code, SQL or JSON."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z][^{}\[\]=<>;`$%]*[.?!]", value):
        return False
    return re.search(r"(?:^|\s)(\"[A-Za-z][^\"]*\"|'[A-Za-z][^']*')(?=[\s.,:;])", value) is not None


def test_sentences_of_the_programs_quote_in_curly_marks():
    modules = [path for path in files() if path.suffix == ".py" and not {"wire", "simulator"} & set(path.parts)]
    assert {path.name: found for path in modules if (found := sentences(path.read_text()))} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('It says "too long" here.', ['"too long"']),
        ("It says “too long” here.", []),
        ('Write `a = "b"`.', []),
        ('<img alt="a turn">', []),
    ],
)
def test_a_straight_quotation_is_found(text: str, found: list[str]):
    assert quoted(text) == found
    assert sentences(f"x = {text!r}") == ([text] if found else [])
