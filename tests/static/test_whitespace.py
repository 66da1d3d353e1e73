"""The templates are indented where HTML ignores whitespace. Where it counts, they have no whitespace of their own."""

import re

import pytest
from django.conf import settings

TEMPLATES = {
    str(path.relative_to(settings.BASE_DIR)): path.read_text("utf-8")
    for path in (settings.BASE_DIR / "templates").rglob("*.html")
}
STYLES = "\n".join(path.read_text("utf-8") for path in (settings.BASE_DIR / "static/css").glob("*.css"))
#: What a tag of a template may hold: its own text, and Django's tags and variables, which may hold `>` and quotes.
WITHIN = r"(?:\{%.*?%\}|\{\{.*?\}\}|[^{>\"]|\{(?![%{]))"
VALUE = r"(?:\{%.*?%\}|\{\{.*?\}\}|[^\"{]|\{(?![%{]))*"
#: Attributes but those whose value is a list that whitespace divides, or a path.
READ = re.compile(rf'\s(?!class=|d=)[\w-]+="({VALUE})"')
ATTRIBUTES = rf'(?:{WITHIN}|"{VALUE}")*>'
OPENING = re.compile(rf"<[a-z][a-z0-9]*{ATTRIBUTES}", re.DOTALL)
AREA = re.compile(rf"<textarea {ATTRIBUTES}(.*?)</textarea>", re.DOTALL)
#: Selectors of one class or id whose elements keep their whitespace.
KEEPING = re.findall(r"^ *([^{}\n]*[^ {}\n]) *\{[^}]*white-space: pre", STYLES, re.MULTILINE)


def named(selectors: list[str]) -> set[str]:
    """Their classes and ids, as `.class` and `#id`."""
    return {name for selector in selectors for name in re.findall(r"[.#][a-z][\w-]*", selector)}


def padded(names: set[str]) -> list[tuple[str, str]]:
    """The elements with one of these classes or ids that begin with whitespace."""
    return [
        (file, tag[0])
        for file, text in TEMPLATES.items()
        for tag in OPENING.finditer(text)
        if text[tag.end() : tag.end() + 1].isspace() and names & names_of(tag[0])
    ]


def names_of(tag: str) -> set[str]:
    given = re.findall(rf'\s(class|id)="({VALUE})"', tag)
    return {("." if kind == "class" else "#") + name for kind, value in given for name in value.split()}


def test_no_text_of_an_attribute_has_a_line_break():
    broken = [(file, found[0]) for file, text in TEMPLATES.items() for found in READ.finditer(text) if "\n" in found[1]]
    assert broken == []


def test_no_text_to_be_copied_is_indented_with_the_template():
    areas = [(file, area[1]) for file, text in TEMPLATES.items() for area in AREA.finditer(text)]
    assert [area for area in areas if "export" in area[1]]
    assert [(file, text) for file, text in areas if re.match(r"\s", text) or re.search(r"\n {6}", text)] == []


def test_an_element_styled_while_empty_begins_without_whitespace():
    names = named(re.findall(r"([.#][\w-]+)(?=:empty|:not\(:empty)", STYLES))
    assert ".count" in names
    assert padded(names) == []


def test_an_element_that_preserves_whitespace_begins_without_any():
    alone = [part for selector in KEEPING for part in selector.split(",") if re.fullmatch(r" *[.#][\w-]+ *", part)]
    names = named(alone) - {".asked"}  # also the name of cards, whose whitespace collapses
    assert {".answer", ".command", ".wire"} <= names
    assert padded(names) == []


@pytest.mark.parametrize(
    ("file", "inside"),
    [("agents/_sections", "dd"), ("replay/_verify", "td"), ("runs/_step", "p")],
)
def test_a_value_that_keeps_its_whitespace_has_none_of_the_template(file: str, inside: str):
    text = TEMPLATES[f"templates/{file}.html"]
    shown = re.findall(rf"<{inside}(?: [^>]*)?>\s*\{{[{{%][^<]*(?:said|line|text|answer)", text)
    assert [found for found in shown if re.match(r"<[^>]*>\s", found)] == []


def test_no_line_of_a_template_is_longer_than_a_reader_takes_in():
    assert not [
        f"{name}:{number}"
        for name, text in TEMPLATES.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if len(line) > 160
    ]
