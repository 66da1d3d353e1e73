import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.platform.fields import exact_json, storable_json, storable_text
from dashboard.platform.ids import new_id
from dashboard.turns.models import Checkpoint
from tests.peak_memory import peak_of

#: Any character at all, and those more often that the storing must take care of.
ODD = st.text(st.one_of(st.characters(exclude_categories=()), st.sampled_from('\x00\ud800\udfff\ue000\\u0de"')))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ODD,
    lambda inner: st.lists(inner) | st.dictionaries(ODD, inner),
)


def unpaired(text: str) -> str:
    """The text as JSON can say it: a high and a low surrogate in a row are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@given(ODD)
def test_any_text_survives_in_json_that_postgres_accepts(text):
    text = unpaired(text)
    stored = storable_json({text: [text]})
    assert exact_json(stored) == {text: [text]}
    assert "\\u0000" not in stored.replace("\\\\", "")


@given(VALUES)
def test_any_value_survives_a_round_trip(value):
    once = exact_json(storable_json(value))
    assert exact_json(storable_json(once)) == once


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text", ["\x00", "\ud800", "\udc00\ud800", "\ue0000000", "\\u0000", "\\\x00", "😀", '"\\\ud83d\\ude00', "\ue000"]
)
def test_characters_that_postgres_rejects_survive_a_round_trip(text):
    turn_id = new_id()
    Checkpoint.objects.create(turn_id=turn_id, seq=1, snapshot={text: [text]}, core_version="1")
    assert Checkpoint.objects.get(turn_id=turn_id).snapshot == {text: [text]}


NUMBERS = [1e308, -1.5e300, 1e22, 1e23, 1e16, 123456789012345680000.0, 1.0, 0.1, -0.05, 1e-7, 5e-324, 0.0, -0.0, 2**70]


@pytest.mark.django_db
def test_numbers_survive_postgres_with_value_and_type():
    words = ["1e+22", '"1e+22', "\\", "-0.0", "\ue000-0.0", '"\ue000-0.0"']
    told = {"-0.0": -0.0, "words": words, "numbers": NUMBERS}  # in the order of jsonb
    turn_id = new_id()
    Checkpoint.objects.create(turn_id=turn_id, seq=1, snapshot=told, core_version="1")
    assert repr(Checkpoint.objects.get(turn_id=turn_id).snapshot) == repr(told)


def test_displayed_text_marks_characters_that_cannot_be_stored():
    assert storable_text("a\x00b\ud800c😀") == "a\ufffdb\ufffdc😀"


def test_a_text_of_many_escapes_beside_a_large_number_takes_little_memory():
    """Each escape took a hundred bytes: JSON of 16 MB took 950 MB."""
    value = {"text": "\n" * 1_000_000, "number": 1e22}
    assert exact_json(storable_json(value)) == value
    assert peak_of(lambda: storable_json(value)) < 20_000_000
