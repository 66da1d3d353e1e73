"""JSON on a page: what is copied from it is the JSON that came, and nothing of it is markup."""

import json
import re
from html import unescape

import pytest

from dashboard.turns.json_view import MOST_DEPTH, MOST_VALUES, folded


def copied(text: str) -> str:
    """What the page's button copies: the text of what is shown, folded or not."""
    shown = folded(text)
    assert shown is not None
    return unescape(re.sub(r"<[^>]*>", "", shown))


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"a": [1, 2.50, 1e400, -0, 12345678901234567890123], "b": {"c": null, "d": [true, false, {}, []]}}',
        '{"text": "<script>alert(1)</script> & \\"quoted\\"\\nline", "größe": "…"}',
        '[{"a": "\\ud800"}, [[["deep"]]]]',
    ],
)
def test_what_is_copied_is_the_json_that_came(text: str):
    as_it_came = {"parse_int": str, "parse_float": str}
    assert json.loads(copied(text), **as_it_came) == json.loads(text, **as_it_came)


def test_repeated_keys_and_digits_stay():
    assert copied('{"a": 1.10, "a": 2}') == '{\n  "a": 1.10,\n  "a": 2\n}\n'


def test_nothing_of_it_is_markup():
    shown = folded('{"<b>": "</details><script>"}')
    assert shown is not None
    assert "<script" not in shown
    assert '<b>"&lt;b&gt;"' in shown


def test_what_lies_deep_or_is_long_begins_folded():
    shown = folded(json.dumps({"a": {"b": {"c": {"d": 1}}}, "many": [0] * 41})) or ""
    assert shown.count("<details open>") == 3
    assert shown.count("<details>") == 2
    assert 'data-count="41 items"' in shown
    assert 'data-count="1 key"' in shown


@pytest.mark.parametrize(
    "text",
    ["", "null", "12", "data: {}", "[" * (MOST_DEPTH + 2) + "]" * (MOST_DEPTH + 2), json.dumps([0] * MOST_VALUES)],
)
def test_what_is_no_json_or_too_large_is_not_folded(text: str):
    assert folded(text) is None
