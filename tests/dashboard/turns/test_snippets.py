"""Where the words of a search stand."""

import pytest

from dashboard.turns.models import Turn
from dashboard.turns.snippets import snippet_of

LONG = "so it goes " * 40


@pytest.mark.parametrize(
    ("asked", "where", "found"),
    [
        ("violins", "answer", ["violins"]),
        ("VIOLINS sea", "answer", ["violins", "sea"]),
        ('"violins at"', "answer", ["violins", "at"]),
        ("violins -sea", "answer", ["violins"]),
        ("stop or violins", "answer", ["violins"]),
        ("agents", "prompt", ["agents"]),
    ],
)
def test_each_word_that_was_looked_for_is_marked_where_it_stands(asked: str, where: str, found: list[str]):
    turn = Turn(input_text="Why do agents stop?", output_text=f"{LONG}violins at sea. {LONG}")
    snippet = snippet_of(turn, asked)
    assert snippet is not None
    assert snippet.where == where
    assert [piece for piece, marked in snippet.marked if marked] == found
    assert len("".join(snippet.pieces)) < 260


@pytest.mark.parametrize("asked", ["", "nowhere", "-violins", "viol", "***"])
def test_what_does_not_stand_there_as_a_whole_word_marks_nothing(asked: str):
    assert snippet_of(Turn(input_text="Why?", output_text="violins"), asked) is None


@pytest.mark.parametrize("before", [0, 32, 96, 152])
@pytest.mark.parametrize("of", ["answer", "prompt"])
def test_the_first_word_found_is_among_the_first_characters_of_a_narrow_column(before: int, of: str):
    text = f"{'it goes ' * 40}"[:before] + "violins at sea. " + LONG
    turn = Turn(input_text=text, output_text="") if of == "prompt" else Turn(input_text="Why?", output_text=text)
    snippet = snippet_of(turn, "violins")
    assert snippet is not None
    assert "".join(snippet.pieces).index("violins") < 25
