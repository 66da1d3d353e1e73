"""Bodies go out and are stored as `json` writes them without a space."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.turns.history import compact_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
)


@given(values)
def test_a_value_is_written_as_compact_json(value: Any):
    assert compact_json(value) == json.dumps(value, separators=(",", ":"))


def test_an_invalid_value_is_refused_and_the_next_one_still_written():
    with pytest.raises(TypeError):
        compact_json({"at": object()})
    assert compact_json({"at": 1}) == '{"at":1}'
