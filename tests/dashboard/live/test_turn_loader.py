"""A request says its names in the order of another one, and asks for the same."""

import json

import pytest

from dashboard.live.turn_loader import in_order_of

CASES = [
    ({"a": 1, "b": 2}, {"b": 0, "a": 0}, '{"b": 2, "a": 1}'),
    ({"a": 1, "new": 2, "b": 3}, {"b": 0, "gone": 0, "a": 0}, '{"b": 3, "a": 1, "new": 2}'),
    ({"new": 1, "newer": 2, "a": 3, "b": 4}, {"b": 0, "a": 0}, '{"new": 1, "newer": 2, "b": 4, "a": 3}'),
    ({"in": [{"a": 1, "b": 2}, {"c": 3}]}, {"in": [{"b": 0, "a": 0}]}, '{"in": [{"b": 2, "a": 1}, {"c": 3}]}'),
    ({"a": {"x": 1, "y": 2}}, {"a": "a word"}, '{"a": {"x": 1, "y": 2}}'),
    ({"b": 1, "a": 2}, None, '{"b": 1, "a": 2}'),
]


@pytest.mark.parametrize(("value", "sample", "told"), CASES)
def test_names_follow_the_order_of_the_sample_and_others_follow_their_neighbour(value, sample, told):
    ordered = in_order_of(value, sample)
    assert json.dumps(ordered) == told
    assert ordered == value
