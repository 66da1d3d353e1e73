"""The line at which a stream is held back is the one that an expression finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.gateway.serving.passthrough import first_line
from dashboard.gateway.wire.chat.dialect import CHAT
from dashboard.gateway.wire.messages.dialect import MESSAGES

BITS = (
    b"data:",
    b"data: ",
    b'"finish_reason":"',
    b'"finish_reason": "',
    b"[DONE]",
    b"event: ",
    b"message_delta",
    b'"type": "message_stop"',
    b"stop",
    b"null",
    b"\n",
    b"\r",
    b'"',
)


@pytest.mark.parametrize("door", [CHAT, MESSAGES], ids=lambda door: door.dialect)
@pytest.mark.parametrize("mark", ["done", "finish"])
@given(bits=st.lists(st.sampled_from(BITS), max_size=14))
def test_the_first_matching_line_is_found(door, mark, bits):
    data, line = b"".join(bits), getattr(door.marks, mark)
    found = line.search(data)
    assert first_line(data, line, door.marks.hints[line]) == (-1 if found is None else found.start())
