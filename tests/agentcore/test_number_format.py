import pytest

from agentcore.number_format import (
    as_set,
    count,
    duration,
    milliseconds,
    number,
    number_rule,
    percent,
    read_number,
    seconds,
    times,
)
from tests.together import together


@together
@pytest.mark.parametrize(("value", "words"), [(7, "7"), (1214, "1,214"), (12.0, "12"), (1.25, "1.25"), (0, "0")])
def test_numbers_are_formatted_as_on_the_pages(value: float, words: str):
    assert number(value) == words


def test_one_is_singular():
    assert (count(1, "call"), count(2, "call"), times(2), times(3)) == ("1 call", "2 calls", "twice", "3 times")


@pytest.mark.parametrize(
    ("share", "digits", "words"),
    [
        (0.0, 0, "0 %"), (0.43, 0, "43 %"), (1.0, 0, "100 %"), (0.004, 0, "< 1 %"), (0.996, 0, "> 99 %"),
        (0.083, 1, "8.3 %"), (0.12, 1, "12 %"), (0.0004, 1, "< 0.1 %"), (0.9996, 1, "> 99.9 %"), (12.5, 0, "1,250 %"),
    ],
)  # fmt: skip
def test_a_share_is_never_rounded_to_zero_or_to_one_hundred_percent(share: float, digits: int, words: str):
    assert percent(share, digits) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.42, "0.42 s"), (9.994, "9.99 s"), (21.44, "21.4 s"), (60, "1 min"), (200, "3 min 20 s"),
        (3_600, "1 h"), (3_900, "1 h 5 min"),
    ],
)  # fmt: skip
def test_a_duration_has_at_most_two_units(value: float, words: str):
    assert duration(value) == words
    assert duration(value, space="\u202f") == words.replace(" s", "\u202fs").replace(" min", "\u202fmin").replace(
        " h", "\u202fh"
    )


def test_a_configured_number_of_seconds_is_shown_as_configured():
    assert (seconds(120), seconds(0.5), seconds(86_400)) == ("120 s", "0.5 s", "86,400 s")


def test_milliseconds_have_only_significant_digits():
    assert (milliseconds(0.42), milliseconds(3.14), milliseconds(120)) == ("0.42 ms", "3.1 ms", "120 ms")


def test_a_number_that_was_set_keeps_all_its_digits():
    told = {0.005: "0.005", 99.999: "99.999", 0.00001: "0.00001", 120_000: "120,000", 1e15: "1,000,000,000,000,000"}
    assert {value: as_set(value) for value in (*told, 0.5, 40.0)} == {**told, 0.5: "0.5", 40.0: "40"}


@together
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4000", 4000), (" 4,000 ", 4000), ("1,000,000", 1_000_000), ("-7", -7), ("0.5", 0.5), (".5", 0.5),
        ("1,234.5", 1234.5), ("4000.0", 4000.0), ("1_000", None), ("120 000", None), ("1,00", None), ("12,3456", None),
        ("nan", None), ("Infinity", None), ("1e3", None), ("+4", None), ("٣", None), ("", None), ("-", None),
        ("0x10", None), ("1.", None), ("9" * 5_000, None), ("many", None),
    ],
)  # fmt: skip
def test_a_number_is_read_as_pages_write_it(text: str, value: float | None):
    found = read_number(text)
    assert (found, type(found)) == (value, type(value))


def test_every_number_that_a_page_writes_can_be_read():
    for value in (0, 7, 1214, 120_000, 0.1, 0.005, 604_800, 1_000_000_000, 1234.5):
        assert read_number(as_set(value)) == value


def test_one_sentence_says_what_a_number_must_be():
    assert number_rule(1, 1_000_000, whole=True) == "must be a whole number from 1 to 1,000,000."
    assert number_rule(1, 8, whole=False) == "must be a number from 1 to 8."
    assert number_rule(0.1, 604_800, whole=False, unit="seconds") == "must be a number of seconds from 0.1 to 604,800."
    assert number_rule(0, None, whole=True) == "must be a whole number of at least 0."
    assert number_rule(None, 9, whole=True) == "must be a whole number of at most 9."
    assert number_rule(None, None, whole=False) == "must be a number."
