"""Where a text has something open at its end; and where it only looks so."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore import incomplete_text
from tests.together import together


@together
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ('{"a": 1', 0),
        ('  [1, "two', 2),
        ('{"a": {"b": [1, 2]}', 0),
        ('{"a": 1}', None),
        ("{", None),
        ("[", None),
        ("[Verse 1]\nWalking", None),
        ("{name} is a placeholder", None),
        ('"a string', None),
        ('{"a": 1} {"b"', None),
        ('{"a": "\ud83d', 0),
        ('{"a": "\ud83d"}', None),
    ],
)
def test_json_that_is_the_whole_text(text: str, at: int | None):
    assert incomplete_text.json_at(text) == at


@together
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("```python\nx = 1", 0),
        ("So:\n\n```\nx", 5),
        ("```\na\n```\n```\nb", 10),
        ("````md\n```sh\nls\n```\n", 0),
        ("- one\n  ```sh\n  ls", 8),
        ("```python\nx\n```", None),
        ("````md\n```sh\nls\n```\n````", None),
        ("```md\n```sh\nls\n```\n```", None),
        ("A line with ``` in it", None),
        ("```code``` in a line", None),
        ("~~~\n```\n~~~", None),
        ("```\n~~~\n```", None),
    ],
)
def test_an_unclosed_code_fence_is_found_where_it_opens(text: str, at: int | None):
    assert incomplete_text.fence_at(text) == at


@together
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("call f(1, 2", 6),
        ("a (b (c) d", 2),
        ("An (old) one.\n\nA [new", 17),
        ("[0, 1)", None),
        ("1) one\n2) two", None),
        ("Alas :(", None),
        ("The sign `(` opens", None),
        ("A (paragraph\n\nbefore the last", None),
    ],
)
def test_a_bracket_of_the_last_paragraph(text: str, at: int | None):
    assert incomplete_text.bracket_at(text) == at


@together
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("It ends. Then there is one that does not come to", 9),
        ("It ends. Then there is one that goes on, and on,", 9),
        ("- One is long enough to be a sentence.\n- Two is long enough to be one but", 39),
        ("- One is long enough to be a sentence\n- Two is long enough to be one too", None),
        ("It ends. Then there is one that does come to its end.", None),
        ("No sentence of this text has an end that one could see", None),
        ("It ends.\n\nYours,\nthe one who wrote all of this letter", None),
        ("It ends.\n\n## A heading that is as long as a sentence", None),
        ("It ends. Short one", None),
        ("The answer is a number that is written at the end. It is, as far as we know, 42", None),
    ],
)
def test_a_sentence_without_an_end_in_a_text_whose_other_sentences_have_one(text: str, at: int | None):
    assert incomplete_text.sentence_at(text) == at


LINES = ("```", "````", "~~~", "~~~~", "```py", "  ```", "``` ", "\t~~~~ ", "a word", "", "``", "````` x", "~~~ ```")


@given(st.lists(st.sampled_from(LINES), max_size=12), st.sampled_from(["", "\n"]))
def test_closed_code_blocks_are_ignored_at_any_position(lines: list[str], end: str):
    text = "\n".join(lines) + end
    assert incomplete_text._without_fences(text) == re.sub(
        r"(?ms)^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?^[ \t]*\1[ \t]*$", "", text
    )


@pytest.mark.parametrize("odd", ["```a\n````\n" * 2_000, "`" * 20_000, "```a\n" * 4_000, "~~~ `\n" * 3_000])
def test_a_text_of_fences_alone_is_read_about_as_fast_as_prose(odd: str):
    prose = "Agents stop for a reason, and it is told.\n" * (len(odd) // 42)

    def seconds(text: str) -> float:
        began = time.process_time()
        incomplete_text.sentence_at(f"{text}\nand this one of all its sentences does not")
        return time.process_time() - began

    assert min(seconds(odd) for _ in range(3)) < 100 * max(1e-4, min(seconds(prose) for _ in range(3)))
