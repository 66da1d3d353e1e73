"""Tables on narrow screens: one rule turns their rows into lines, and each value is named as its column is."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT: Path = settings.BASE_DIR
TAG = re.compile(r"{%.*?%}|{#.*?#}", re.DOTALL)
CHOICE = "\0"  #: where a tag stood: what is there depends


def tables() -> Iterator[tuple[Path, str]]:
    """The templates with a table that stacks, a mark in the place of each tag."""
    for path in sorted((ROOT / "templates").rglob("*.html")):
        text = path.read_text("utf-8")
        if re.search(r'class="[^"]*\bstacks\b', text):
            yield path, TAG.sub(CHOICE, text)


def test_one_style_sheet_turns_rows_into_lines():
    sheets = sorted((ROOT / "static" / "css").glob("*.css"))
    hiding = {sheet.name for sheet in sheets if re.search(r"thead\b[^{]*{[^}]*clip-path", sheet.read_text("utf-8"))}
    assert hiding == {"stacked.css"}


def test_many_tables_stack():
    assert len(list(tables())) > 12


@pytest.mark.parametrize("path", [path for path, _ in tables()], ids=lambda path: path.name)
def test_a_stacked_value_is_labelled_with_its_column(path: Path):
    text = dict(tables())[path]
    heads = {
        _words(head).replace(CHOICE, "")
        for head in re.findall(r"<th[^>]*\bscope=\"col\"[^>]*>(.*?)</th>", text, re.DOTALL)
    }
    labels = {_words(label) for label in re.findall(r'data-label="([^"]*)"', text)}
    assert {label for label in labels - heads if label and "{{" not in label and CHOICE not in label} <= {"Certainty"}


def _words(text: str) -> str:
    return re.sub(r"<.*?>", "", text).replace("&nbsp;", " ").strip()
