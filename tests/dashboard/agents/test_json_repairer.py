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
def test_what_is_nearly_json_becomes_json(broken, value):
    assert json.loads(repaired(broken)) == value


@pytest.mark.parametrize("text", ["", "hello", "[" * 5_000, "{" + "a" * MAX_REPAIRED])
def test_what_is_no_json_at_all_or_too_much_stays_unrepaired(text):
    assert repaired(text) == ""


@pytest.mark.parametrize("text", ['{"' * 50_000, '[{"' * 30_000])
def test_a_text_whose_repair_would_take_minutes_stays_unrepaired(text):
    assert repaired(text) == ""


def test_a_long_text_that_is_nearly_json_is_repaired():
    assert len(json.loads(repaired("[" + '{"name": "a b", "of": [1, 2,]},' * 3_000))) == 3_000


@given(st.text(alphabet="{}[]:,\"'\\ a1é\ud800\n`/*#"))
def test_no_text_breaks_it(text):
    assert isinstance(repaired(text), str)
