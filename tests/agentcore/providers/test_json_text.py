import pytest

from agentcore.errors import DecodeError
from agentcore.providers.wire.untrusted_json import CutError, is_cut_json, read_cut_json, read_json, read_json_or_cut
from tests.together import together


def test_the_available_part_of_truncated_json_is_read():
    assert read_cut_json(b'{"a": "so f') == {"a": "so f"}
    with pytest.raises(DecodeError, match="cannot be read"):
        read_cut_json(b'{"a": oops}')


def test_a_lone_surrogate_or_a_bad_byte_does_not_lose_an_event():
    assert read_json(b'{"a": "\\ud83d"}') == {"a": "\ud83d"}
    assert read_json(b'{"a": "\xff"}') == {"a": "\ufffd"}
    assert read_json(b'{"a": ' + b"9" * 5000 + b"}") == {"a": float("inf")}
    assert read_json(b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}")["a"]


@pytest.mark.parametrize("data", [b"", b"{", b"hello", b"[" * 100_000])
def test_invalid_json_raises_a_value_error(data):
    with pytest.raises(ValueError, match=r"."):
        read_json(data)


@together
@pytest.mark.parametrize("end", range(1, len(b'{"a": ["b", 1]}')))
def test_the_start_of_an_object_is_detected_as_truncated_json(end):
    assert is_cut_json(b'{"a": ["b", 1]}'[:end])


@together
@pytest.mark.parametrize("data", [b"", b"hello", b'{"a": 1}', b"{oops}", b'{"a": 1} {', b'"a', b"nul", b"{]"])
def test_other_text_is_not_detected_as_truncated_json(data):
    assert not is_cut_json(data)


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": "' + b"b" * 100_000, b'{"a": [1, tru'])
def test_an_unfinished_text_is_distinguished_from_an_invalid_one(data):
    with pytest.raises(CutError):
        read_json(data)
    with pytest.raises(ValueError, match=r".") as wrong:
        read_json(b"{oops}" + data)
    assert not isinstance(wrong.value, CutError)


def test_a_document_is_read_completely_or_as_far_as_possible():
    assert read_json_or_cut(b'{"a": "so far"}') == ({"a": "so far"}, False)
    assert read_json_or_cut(b'{"a": "so f') == ({"a": "so f"}, True)
