"""The values of a JSON text are counted in its bytes; what stands in strings counts as one value."""

import json
import time
from typing import Any

import pytest

from dashboard.agents import json_value_count
from dashboard.agents.json_value_count import ValueCount, holds_more_values

MOST = 100_000
MANY = 15_000_000  #: bytes


def count(value: Any) -> int:
    match value:
        case dict() | list():
            inner = value.values() if isinstance(value, dict) else value
            return 1 + (sum(map(count, inner)) or 1)  # an empty one counts as two
        case _:
            return 1


@pytest.mark.parametrize(
    "value",
    [
        1,
        "[,{",
        [],
        {},
        [[], {}, "", 0, None],
        {"a,": [1, 2, {"[": "{,"}]},
        ["\\", ",", '"', '\\"', '"\\\\,', '\\\\\\"[', "\\\\"],
        {'",': {"\\": [{"é,": ["\ud83d", "\n,"]}]}},
        {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": '{"a": [1, 2]}'}]}]},
    ],
)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_the_count_is_exact(value: Any, separators: tuple[str, str]):
    text, values = json.dumps(value, separators=separators).encode(), count(value)
    assert not holds_more_values(text, values)
    assert holds_more_values(text.ljust(values), values - 1)


@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_the_count_is_the_same_for_any_chunk_size(size: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json_value_count, "PIECE", size)
    value = [
        "\\",
        ",",
        '"',
        '\\"',
        '"\\\\,',
        '\\\\\\"[',
        "\\\\",
        {'",': {"\\": [{"é,": ["[{", "\n,"]}]}},
        "\\" * 9 + '"',
    ]
    text, values = json.dumps(value).encode(), count(value)
    assert not holds_more_values(text, values)
    assert holds_more_values(text, values - 1)


@pytest.mark.parametrize(
    "content", [b'["' + b",[{" * MOST + b'"]', b'["' + b'\\",' * MOST + b'"]', b'["' + b"[" * 2 * MOST]
)
def test_punctuation_inside_strings_is_not_counted(content: bytes):
    assert not holds_more_values(content, MOST)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_a_string_ends_at_the_end_of_its_line(end: bytes, size: int):
    """So a quotation mark that is no JSON hides nothing of what is in other lines."""
    text, count = b': "' + end + b'data: ["a\\",", 1, [2, "' + end + b"," + end + b'"]]', ValueCount()
    found = [count.add(text[begin : begin + size]) for begin in range(0, len(text), size)]
    assert (sum(found), count.marks) == (6, 6)


@pytest.mark.parametrize("unit", [b"{},", b'"",', b'"\\\\",', b"[", b'{"":', b'"",",,,,,,,,,,,,,,,,"'])
def test_many_values_are_counted_quickly(unit: bytes):
    began = time.process_time()
    assert holds_more_values(b"[" + unit * (MANY // len(unit)), MOST)
    assert time.process_time() - began < 2
