import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.messages import CallIssue
from agentcore.providers.wire.tool_calls import read_arguments
from tests.together import together

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@together
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("{}", {}),
        (' {"a": 1}\n', {"a": 1}),
        (
            '{"a": {"b": [1, 2.5, null, true]}, "c": "\\u00e9\\ud83d\\ude00"}',
            {"a": {"b": [1, 2.5, None, True]}, "c": "é😀"},
        ),
        ('{"big": 123456789012345678901234567890}', {"big": 123456789012345678901234567890}),
    ],
)
def test_one_complete_object_is_complete_even_in_a_truncated_answer(text, arguments, cut):
    assert read_arguments(text, cut=cut) == (arguments, None)


@pytest.mark.parametrize("text", ["", "  \n", "null", " null "])
def test_empty_input_means_no_arguments_unless_the_answer_was_truncated(text):
    assert read_arguments(text, cut=False) == ({}, None)
    assert read_arguments(text, cut=True) == ({}, CallIssue.TRUNCATED)


@together
@pytest.mark.parametrize(
    "text", ["{", '{"a', '{"a":', '{"a": "x', '{"a": [1, 2', '{"a": tru', '{"a": -', '{"a": "\\ud83d\\ud']
)
def test_text_that_ends_too_early_is_truncated_only_with_evidence(text):
    assert read_arguments(text, cut=True) == ({}, CallIssue.TRUNCATED)
    assert read_arguments(text, cut=False) == ({}, CallIssue.MALFORMED)


@together
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": [{"b": 1, "b": 2}]}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": [[1e999]]}',
        '{"a": 1} x',
        '{"a": 1}{"b": 2}',
        '{"a": 1}\x00',
        "{'a': 1}",
        "[1]",
        '"text"',
        "7",
        "true",
        '{"a": 01}',
        '{"a": "line\nbreak"}',
        '{"a": 1,}',
        "```json\n{}\n```",
        '{"a": "\\ud800"}',
        '{"a": "\ud800"}',
        "{" * 5000,
        '{"a": ' + "[" * 300 + "]" * 300 + "}",
    ],
)
def test_any_other_text_is_malformed_even_in_a_truncated_answer(text, cut):
    if text != "{" * 5000:
        assert read_arguments(text, cut=cut) == ({}, CallIssue.MALFORMED)
    assert read_arguments(text, cut=cut)[1] is not None


@given(st.dictionaries(st.text(), JSON_VALUES, min_size=1, max_size=4), st.booleans(), st.data())
def test_every_proper_prefix_of_an_object_is_truncated_in_a_truncated_answer(value, ascii_only, data):
    text = json.dumps(value, ensure_ascii=ascii_only)
    end = data.draw(st.integers(1, len(text) - 1))
    assert read_arguments(text, cut=False) == (value, None)
    assert read_arguments(text[:end], cut=True) == ({}, CallIssue.TRUNCATED)
