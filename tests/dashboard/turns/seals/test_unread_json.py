"""A JSON text that tells more than is read of it is found, and no other one is."""

import json

import pytest

from dashboard.turns.seals.seal_check import is_fully_read, unread_faults
from dashboard.turns.shared_values import exact_text
from tests.dashboard.driving import Play
from tests.peak_memory import peak_of

from .forging import as_superuser, faults, seal


@pytest.mark.parametrize(
    "text", [b'{"a":1,"a":2}', b'{"a": 1}', b"[1,\n2]", b'{"a":{"b":1,"b":1}}', b"1 ", b'{"a":1}\t']
)
def test_duplicate_names_and_whitespace_are_found(text: bytes):
    assert not is_fully_read(text)


@pytest.mark.parametrize(
    "value", [{"a": 'x "y: [ ] \n'}, {"\ud800 b": [1.5, -0.0, 1e22, None]}, "ä \\", [], {"a": {"a": 1}}]
)
def test_json_with_unique_names_and_no_whitespace_is_fully_read(value: object):
    assert is_fully_read(exact_text(value))
    assert is_fully_read(json.dumps(value, separators=(",", ":")).encode())


@pytest.mark.parametrize("letters", ["a", "\n"])
def test_a_long_text_takes_little_memory(letters: str):
    """A pattern with a way back took a hundred times the text: 1.8 GB of one of 16 MB."""
    text = json.dumps({"a": letters * 1_000_000}, indent=1).encode()
    assert not is_fully_read(text)
    assert peak_of(lambda: is_fully_read(text)) < 12 * len(text)


@pytest.mark.django_db(transaction=True)
def test_a_request_with_content_that_is_not_read_is_named(play: Play):
    turn = play("sim-essay")
    seal()
    assert list(unread_faults([turn.id])) == []
    as_superuser("UPDATE turns_attempt SET request = request || ' ' WHERE turn_id = %s", turn.id)
    assert faults() == {str(turn.id): "The request of attempt 1 contains more than this version reads."}
