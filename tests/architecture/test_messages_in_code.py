"""Messages, errors and refusals show the keys of settings as code, on every page: their words may name a limit."""

import re
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[2] / "templates"
#: What a template calls a sentence that the program composed; `field.errors` is only asked for, not shown.
TOLD = re.compile(
    r"\{\{\s*((?:\w+\.)*(?:error|errors|fault|faults\.left|faults\.right|problem|refused|told|why_not|warning|sentence"
    r"|message)(?:\|[^}]*)?)\s*\}\}"
)
#: Texts of others, which name no setting of ours; addresses and flags; the plain text of an attribute.
OF_OTHERS = {
    "attempt.error.message", "call.error", "one.fault", "try.fault", "page.step.sentence", "shown.error",
    "log.refused", "one.refused", "place.why_not",
}  # fmt: skip


def bare(text: str) -> list[str]:
    found = [expression.strip() for expression in TOLD.findall(text)]
    return [each for each in found if "keys_in_code" not in each and each.partition("|")[0] not in OF_OTHERS]


def test_every_message_shows_keys_as_code():
    found = {path.relative_to(TEMPLATES).as_posix(): bare(path.read_text()) for path in TEMPLATES.rglob("*.html")}
    assert {name: expressions for name, expressions in found.items() if expressions} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{ error }}", ["error"]),
        ('{{ faults.left|default:"" }}', ['faults.left|default:""']),
        ("{{ error|keys_in_code }}", []),
        ("{{ error_count }}", []),
    ],
)
def test_a_bare_message_is_found(text: str, found: list[str]):
    assert bare(text) == found
