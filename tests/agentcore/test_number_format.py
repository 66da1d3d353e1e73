import pytest

from agentcore.number_format import count, number, times
from tests.together import together


@together
@pytest.mark.parametrize(("value", "words"), [(7, "7"), (1214, "1,214"), (12.0, "12"), (1.25, "1.25"), (0, "0")])
def test_numbers_are_written_as_pages_write_them(value: float, words: str):
    assert number(value) == words


def test_one_is_no_plural():
    assert (count(1, "call"), count(2, "call"), times(2), times(3)) == ("1 call", "2 calls", "twice", "3 times")
