"""What no JSON can hold, or Postgres does not keep, is refused before it is asked for."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.agents.json_fields import StrictDecoder
from dashboard.platform.strict_json import read_strictly
from tests.together import together

REFUSED = ["NaN", "-Infinity", "1e999", '{"a": [-1e999]}', "1" * 5_000, '"\\ud800"', "[" * 5_000, "{} {}", ""]


@together
@pytest.mark.parametrize("text", REFUSED)
def test_invalid_json_is_refused(text: str):
    with pytest.raises(ValueError, match=r"."):
        read_strictly(text)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text, cls=StrictDecoder)


def test_valid_json_is_read_unchanged():
    text = r'{"a": [1e308, -0.5, 12345678901234567890, null, "\\u0000", "\ud83d\ude00"]}'
    assert read_strictly(text) == json.loads(text) == json.loads(text, cls=StrictDecoder)


NUMBERS = re.compile(r"\A-?(0|[1-9][0-9]{0,3}|9{199,320})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,4})?\Z")


@given(st.from_regex(NUMBERS), st.text(), st.booleans())
@example("9" * 320, "", False)
@example("9" * 309 + ".0", "", False)
@example("9" * 199 + "e99", "", False)
@example("1e+999", "", True)
@example("1E0000000001", "it said 1e999", True)
def test_a_number_is_refused_exactly_where_a_float_cannot_represent_it(number: str, beside: str, encoded: bool):
    text = f"{{{json.dumps(beside, ensure_ascii=False)}: [{number}]}}"
    asked = text.encode() if encoded else text
    if abs(json.loads(number)) == float("inf"):
        with pytest.raises(ValueError, match="too large to be stored"):
            read_strictly(asked)
    else:
        assert read_strictly(asked) == json.loads(text)


@pytest.mark.parametrize("text", [r'"\u0000"', r'{"a": "\\\u0000"}', r'{"a\u0000": 1}'])
def test_a_form_refuses_nul_characters(text: str):
    assert "\x00" in str(read_strictly(text)) or "\\x00" in repr(read_strictly(text))
    with pytest.raises(json.JSONDecodeError, match=r"U\+0000"):
        json.loads(text, cls=StrictDecoder)
