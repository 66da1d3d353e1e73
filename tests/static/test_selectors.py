"""What a browser has to look at again when a page changes."""

import re

from django.conf import settings

CSS = sorted((settings.BASE_DIR / "static" / "css").glob("*.css"))


def selectors(text: str) -> list[str]:
    """Each selector of a style sheet, commas within parentheses left alone."""
    heads = re.findall(r"([^{};]+)\{", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    return [one.strip() for head in heads if "@" not in head for one in _parts(head)]


def _parts(head: str) -> list[str]:
    depth, parts = 0, [""]
    for character in head:
        depth += {"(": 1, ")": -1}.get(character, 0)
        parts[-1] += character
        if character == "," and not depth:
            parts[-1:] = [parts[-1][:-1], ""]
    return parts


def compounds(selector: str) -> list[str]:
    """The parts of a selector, from the outermost to what it styles; what is in parentheses is left out but `:has`."""
    marked, flat = selector.replace(":has(", ":HAS("), ""
    while flat != marked:
        flat, marked = marked, re.sub(r"\((?:[^()]*(:HAS))?[^()]*\)", r"\1", marked)
    return re.split(r"[\s>+~]+", flat)


def test_styles_that_depend_on_other_elements_are_listed():
    """Blink keeps one set of all that `:has()` of another element can change. With `*` in it, or a cell's tag, each
    row that comes makes it style the whole page again."""
    far = [
        (sheet.name, selector)
        for sheet in CSS
        for selector in selectors(sheet.read_text("utf-8"))
        if any(":HAS" in part for part in compounds(selector)[:-1])
    ]
    assert len(far) > 5
    few = r"[.#]|^main$|^:is:not$"  # classes, the one main, the inputs of a field
    assert [one for one in far if not re.search(few, compounds(one[1])[-1])] == []
