"""The line at which a stream is held back is the one that an expression finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.gateway.serving.passing import _DONE, _FINISH, _first_line

BITS = (
    b"data:",
    b"data: ",
    b'"finish_reason":"',
    b'"finish_reason": "',
    b"[DONE]",
    b"stop",
    b"null",
    b"\n",
    b"\r",
    b'"',
)


@pytest.mark.parametrize("line", [_DONE, _FINISH])
@given(bits=st.lists(st.sampled_from(BITS), max_size=14))
def test_the_first_line_that_matches_is_found(line, bits):
    data = b"".join(bits)
    found = line.search(data)
    assert _first_line(data, line) == (-1 if found is None else found.start())
