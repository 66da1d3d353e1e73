"""What no JSON can hold, or Postgres does not keep, is refused before it is asked for."""

import json

import pytest

from dashboard.agents.json_fields import StrictDecoder
from dashboard.agents.strict_json import read_strictly

REFUSED = ["NaN", "-Infinity", "1e999", '{"a": [-1e999]}', "1" * 5_000, '"\\ud800"', "[" * 5_000, "{} {}", ""]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_json_is_refused(text: str):
    with pytest.raises(ValueError, match=r"."):
        read_strictly(text)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text, cls=StrictDecoder)


def test_all_else_is_read_as_it_is():
    text = r'{"a": [1e308, -0.5, 12345678901234567890, null, "\\u0000", "\ud83d\ude00"]}'
    assert read_strictly(text) == json.loads(text) == json.loads(text, cls=StrictDecoder)


@pytest.mark.parametrize("text", [r'"\u0000"', r'{"a": "\\\u0000"}', r'{"a\u0000": 1}'])
def test_a_form_takes_no_nul(text: str):
    assert "\x00" in str(read_strictly(text)) or "\\x00" in repr(read_strictly(text))
    with pytest.raises(json.JSONDecodeError, match=r"U\+0000"):
        json.loads(text, cls=StrictDecoder)
