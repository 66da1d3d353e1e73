"""A continuation told as it comes in says what a merge of the whole says, and never takes back a word."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentcore.continuation_merge import Joining, Rule, cut, is_repetition, join, merge_continuation
from dashboard.gateway.wire.overlap_buffer import MARGIN, OverlapBuffer

PLENTY = 120_000
#: Few letters make overlaps likely; the others split or join what a reader sees as one character.
LETTERS = st.text(alphabet="ab \n\u0301\u200d👩\U0001f1e9\U0001f1ea가\r", max_size=60)
PIECES = st.lists(LETTERS, max_size=12)


def seam_of(existing, *, minimum=12, trimmed=False, room=PLENTY):
    return OverlapBuffer(existing, how=Joining(minimum, trimmed), room=room)


def told(seam, pieces):
    return "".join(seam.take(piece) for piece in pieces if piece)


@st.composite
def continuations(draw):
    """An answer and what came after it, which often begins with its end."""
    existing = draw(LETTERS) * draw(st.integers(1, 3))
    repeated = existing[draw(st.integers(0, len(existing))) :] if draw(st.booleans()) else ""
    pieces = draw(PIECES)
    letters = draw(st.integers(1, 7))
    text = repeated + "".join(pieces)
    return existing, [text[at : at + letters] for at in range(0, len(text), letters)]


@given(continuations(), st.integers(1, 14), st.booleans())
def test_the_sent_text_is_a_prefix_of_the_merged_text(story, minimum, trimmed):
    existing, pieces = story
    text = "".join(pieces)
    merged = merge_continuation(existing, text, min_overlap=minimum, trimmed=trimmed).text
    so_far = ""
    seam = seam_of(existing, minimum=minimum, trimmed=trimmed)
    for n, piece in enumerate(pieces):
        so_far += seam.take(piece)
        assert merged.startswith(existing + so_far), n


@given(continuations())
@example(("a\u0301aaaaaaaaaaa", ["\u0301", *"aaaaaaaaaaa"]))
def test_a_possible_repetition_is_never_sent(story):
    existing, pieces = story
    text = "".join(pieces)
    if len(text) >= 12 and is_repetition(existing, text):
        assert told(seam_of(existing), pieces) == ""


@given(continuations())
def test_once_the_seam_is_passed_all_text_is_sent_at_once(story):
    existing, pieces = story
    seam = seam_of(existing)
    before = told(seam, pieces)
    assert seam.take("\x01 and now something new").endswith("\x01 and now something new")
    after = seam.take("more")
    assert after == "more"
    assert existing + before == merge_continuation(existing, "".join(pieces)).text[: len(existing + before)]


def test_without_an_answer_to_continue_from_nothing_is_held_back():
    for existing in (None, ""):
        assert told(seam_of(existing), ["Agents ", "stop"]) == "Agents stop"


def test_an_overlap_is_omitted_and_a_short_one_kept():
    existing = "Agents stop for reasons, and most of those"
    assert told(seam_of(existing), ["most of", " those", " reasons ", "are dull."]) == " reasons are dull."
    assert told(seam_of(existing), ["those", " those"]) == "those those"


@given(st.integers(0, 40), st.lists(st.integers(1, 30), max_size=40))
def test_near_the_cap_no_text_is_sent_that_the_cut_would_remove(beyond, sizes):
    room = MARGIN + 20
    pieces = ["a" * size for size in sizes] + ["b" * beyond]
    text = "".join(pieces)
    assert cut(text, room).startswith(told(seam_of(None, room=room), pieces))


@pytest.mark.parametrize("existing", ["a" * 100_000, "ab" * 50_000, "a" * 50_000 + "b" + "a" * 50_000])
def test_a_repetitive_text_is_searched_few_times(existing):
    seam = seam_of(existing)
    told(seam, [existing[at : at + 4] for at in range(0, len(existing), 4)])
    assert seam.tries < 120


UNITS = st.sampled_from(["0, ", "ha ", '{"a": 1}, ', "2026-11-23,0,0\n", "|---|---|\n", "GET /health 200\n"])
WAYS = st.builds(
    Joining,
    min_overlap=st.integers(1, 14),
    exact=st.booleans(),
    echo=st.booleans(),
    rule=st.sampled_from(Rule),
)


@given(UNITS, st.integers(0, 9), st.integers(0, 9), st.integers(0, 40), st.text("ab0, ha\n|-", max_size=30), WAYS)
def test_no_text_of_repetitive_answers_is_sent_that_the_merged_answer_lacks(unit, n, m, at, rest, how):
    existing, text = (unit * n)[: at or None], unit * m + rest
    merged, so_far = join(existing, text, how).text, ""
    seam = OverlapBuffer(existing, how=how, room=PLENTY)
    for piece in (text[place : place + 3] for place in range(0, len(text), 3)):
        so_far += seam.take(piece)
        assert merged.startswith(existing + so_far)


@pytest.mark.parametrize("letters", [1, 7, 40])
def test_a_line_is_sent_once_the_following_lines_show_that_it_is_not_a_repeat(letters: int):
    existing = "WARN refused, retryi retrying\n2026-01-01 WARN connection refused, retrying\n2026-01-01"
    text = "01 WARN connection refused, retrying\n2026-01-01 WARN connection refused,"
    assert merge_continuation(existing, text).overlap == 0
    assert told(seam_of(existing), [text[at : at + letters] for at in range(0, len(text), letters)]) == text


def test_an_exact_continuation_is_sent_at_once_and_its_echo_never():
    exact = OverlapBuffer("what was", how=Joining(exact=True), room=PLENTY)
    assert told(exact, [" said", " then"]) == " said then"
    echoing = OverlapBuffer("what was", how=Joining(exact=True, echo=True), room=PLENTY)
    assert told(echoing, ["what", " was", " said", " then"]) == " said then"


def test_possible_markup_of_a_tool_call_waits_until_it_is_judged():
    seam = OverlapBuffer(None, how=Joining(), room=PLENTY, tools=["calc"])
    assert told(seam, ["Let me see. <", "tool_", 'call>{"name": "calc']) == "Let me see. "
    seam = OverlapBuffer(None, how=Joining(), room=PLENTY, tools=["calc"])
    assert told(seam, ["1 <", " 2, and <b", "> is bold."]) == "1 < 2, and <b> is bold."
    seam = OverlapBuffer(None, how=Joining(), room=PLENTY, tools=["calc"])
    assert told(seam, [' {"na', 'me": "calc", "para', 'meters": {"a": 1']) == ""
    seam = OverlapBuffer(None, how=Joining(), room=PLENTY, tools=["calc"])
    assert told(seam, [' {"na', 'me": "cal', 'endar"', "}"]) == ' {"name": "calendar"}'
