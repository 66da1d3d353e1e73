"""What an answer says it used is found wherever it stands, in any chunking, and estimated where it is not said."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.messages import TokenUsage
from dashboard.gateway.serving.usage import WINDOW, UsageReader

LONG = {"data": "x" * (3 * WINDOW)}


def spent(body: bytes, *, asked: int = 400, size: int = 1000, answered: bool = True) -> TokenUsage | None:
    spending = UsageReader(asked, answered)
    for at in range(0, len(body), size):
        spending.take(body[at : at + size])
    return spending.used()


@pytest.mark.parametrize(
    ("usage", "used"),
    [
        ({"prompt_tokens": 7, "total_tokens": 7}, TokenUsage(7)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, TokenUsage(7, 2)),
        ({"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"text_tokens": 7}}, TokenUsage(7, 2)),
        ({"total_tokens": 9}, TokenUsage(9)),
        ({"prompt_tokens": "7"}, TokenUsage(100)),
        ({}, TokenUsage(100)),
    ],
)
def test_usage_is_found_at_either_end_of_an_answer(usage, used):
    for body in ({"usage": usage, **LONG}, {**LONG, "usage": usage}, {"usage": usage}):
        assert spent(json.dumps(body).encode()) == used


def test_the_last_usage_of_a_stream_counts():
    counts = [{"usage": {"prompt_tokens": 7, "completion_tokens": said}} for said in (1, 2)]
    events = [{"usage": None}, counts[0], LONG, counts[1]]
    assert spent(b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)) == TokenUsage(7, 2)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_stream_without_usage_is_counted_as_about_one_token_per_event(size):
    events = [b'data: {"choices": [{"text": "One"}]}\n\n'] * 30
    assert spent(b"".join(events), size=size) == TokenUsage(100, 30)


def test_an_error_has_no_usage():
    assert spent(b'{"usage": {"prompt_tokens": 7}}', answered=False) is None


@given(st.binary(max_size=200), st.integers(1, 50))
def test_any_bytes_are_read_with_little_memory(body, size):
    spending = UsageReader(8, answered=True)
    for at in range(0, len(body), size):
        spending.take(body[at : at + size])
    assert spending.used() is not None
    assert len(spending._head) + len(spending._tail) <= 2 * WINDOW
