from itertools import islice

import pytest

from dashboard.simulator.texts import line, rest_of_list

START = "".join(map(line, range(60)))


def following(said: str, lines: int = 3) -> str:
    return "".join(islice(rest_of_list(said)[1], lines))


def test_any_position_in_the_list_is_found_again() -> None:
    for place in range(len(START) - 200):
        said = START[:place]
        assert START.startswith(said + following(said, 2))


def test_a_late_position_in_the_list_is_found_from_its_last_line() -> None:
    said = "the beginning was lost …" + line(123_456) + line(123_457)[:15]
    assert following(said, 2) == line(123_457)[15:] + line(123_458) + line(123_459)


@pytest.mark.parametrize("foreign", ["", "Something else.", "Something else:\n1. A list of my own."])
def test_an_unknown_text_is_answered_with_the_list_from_its_start(foreign: str) -> None:
    before, _ = rest_of_list(foreign)
    assert before == ""
    assert START.startswith(following(foreign))


def test_ten_thousand_lines_are_all_different() -> None:
    bodies = {line(number).split(". ", 1)[1] for number in range(1, 10_001)}
    assert len(bodies) == 10_000
