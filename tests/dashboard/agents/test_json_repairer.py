import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.agents.policies import MAX_REPAIRED, repaired
from tests.together import together


@together
@pytest.mark.parametrize(
    ("broken", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': 'naïve 😀'}", {"a": "naïve 😀"}),
        ('{a: 1, "b": [1 2]}', {"a": 1, "b": [1, 2]}),
        ('{"a": 1} and that is all', {"a": 1}),
        ("[1, 2,]", [1, 2]),
    ],
)
def test_almost_valid_json_is_repaired(broken, value):
    assert json.loads(repaired(broken)) == value


@pytest.mark.parametrize("text", ["", "hello", "[" * 5_000, "{" + "a" * MAX_REPAIRED])
def test_text_that_is_not_json_or_too_long_is_not_repaired(text):
    assert repaired(text) == ""


@pytest.mark.parametrize("text", ['{"' * 50_000, '[{"' * 30_000])
def test_a_text_whose_repair_would_take_minutes_is_not_repaired(text):
    assert repaired(text) == ""


def test_a_long_almost_valid_json_text_is_repaired():
    assert len(json.loads(repaired("[" + '{"name": "a b", "of": [1, 2,]},' * 3_000))) == 3_000


@given(st.text(alphabet="{}[]:,\"'\\ a1é\ud800\n`/*#"))
def test_no_text_raises_an_exception(text):
    assert isinstance(repaired(text), str)
