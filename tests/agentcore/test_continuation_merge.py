"""Joining a continuation to what it continues (design §3.3)."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from agentcore import continuation_merge, merge_continuation
from agentcore.continuation_merge import MIN_OVERLAP, Joining, Merge, Rule, cut, join, splits_grapheme
from agentcore.overlaps import is_ambiguous
from tests.agentcore.time_growth import grows_linearly
from tests.together import together

FAMILY = "👩\u200d👩\u200d👧"
LONG = "the quick brown fox jumps"


def naive(existing, addition, minimum):
    """The longest overlap of at least `minimum` characters whose seams part no grapheme, by trying them all."""
    for length in range(min(len(existing), len(addition)), minimum - 1, -1):
        clean = not splits_grapheme(existing, len(existing) - length) and not splits_grapheme(addition, length)
        if existing.endswith(addition[:length]) and clean:
            return length
    return 0


@together
@pytest.mark.parametrize(
    ("existing", "addition", "text", "overlap"),
    [
        ("", "", "", 0),
        ("", "new", "new", 0),
        ("old", "", "old", 0),
        ("ha ", "ha ", "ha ha ", 0),
        ("a", "a", "aa", 0),
        ("line\n", "line\n", "line\nline\n", 0),
        ("elevenchars", "elevenchars", "elevencharselevenchars", 0),
        ("twelve chars", "twelve chars", "twelve chars", 12),
        (LONG, LONG, LONG, len(LONG)),
        (LONG, LONG + " over", LONG + " over", len(LONG)),
        (LONG, "brown fox jumps over", LONG + " over", 15),
        (LONG, "fox jumps over", LONG + "fox jumps over", 0),
    ],
)
def test_an_overlap_counts_from_twelve_characters(existing, addition, text, overlap):
    merge = merge_continuation(existing, addition)
    assert (merge.text, merge.overlap) == (text, overlap)


def test_the_minimum_overlap_can_be_chosen():
    assert merge_continuation("abc", "bcd", min_overlap=2).text == "abcd"
    assert merge_continuation("abc", "bcd", min_overlap=0).text == "abcd"
    assert merge_continuation("abcd", "bcde", min_overlap=4).text == "abcdbcde"


@together
@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        FAMILY,
        "🇩🇪",
        "👍🏽",
        "\r\n",
        "\u1100\u1161\u11a8",
        "\uac00\u11a8",
        "क्ष",
        "น้ำ",
        "❤\ufe0f",
        "🏴\U000e0067\U000e0062\U000e007f",
    ],
)
def test_a_position_inside_a_grapheme_is_not_a_seam(cluster):
    for index in range(1, len(cluster)):
        assert splits_grapheme(cluster, index)
        assert cut("x" + cluster, 1 + index) == "x"
    assert not splits_grapheme("x" + cluster, 1)
    assert cut("x" + cluster, 1 + len(cluster)) == "x" + cluster


def test_flag_emoji_are_split_only_between_pairs():
    flags = "🇩🇪🇫🇷🇮🇹"
    assert [splits_grapheme(flags, i) for i in range(len(flags) + 1)] == [False, True, False, True, False, True, False]


def test_an_overlap_that_ends_inside_a_grapheme_is_ignored():
    existing = "a long beginning e"
    merge = merge_continuation(existing, "long beginning e\u0301 end")
    assert merge.overlap == 0
    assert merge.text == existing + "long beginning e\u0301 end"


def test_an_overlap_of_whole_graphemes_is_used():
    tail = f"family {FAMILY} 🇩🇪 e\u0301"
    assert merge_continuation("the " + tail, tail + " goes on").text == "the " + tail + " goes on"


PIECES = st.lists(
    st.sampled_from(["a", "b", " ", "e\u0301", FAMILY, "🇩🇪", "🇩", "\r\n", "\u0301", "aaaa", "abab", "각"]), max_size=30
).map("".join)


@given(PIECES, PIECES, st.integers(1, 14))
@example("a" * 40, "a" * 39 + "b", 12)
@example("x" + "🇩" * 41, "🇩" * 60, 12)
@example("🇩" * 41, "🇩" * 60, 12)
@example("ab" * 40, "ab" * 30 + "e\u0301", 12)
@example("".join(f"- one of the items: {n}\n" for n in range(60)), "- one of the items: 59\n- one more", 12)
@example("".join(f"- one of the items: {n}\n" for n in range(60)), "- one of the items: 58\n- one of", 12)
@example("- one of the items\n" * 60, "- one of the items\n" * 30 + "- one of", 12)
def test_merging_equals_trying_every_overlap(existing, addition, minimum):
    merge = merge_continuation(existing, addition, min_overlap=minimum)
    assert merge.overlap + merge.ambiguous == naive(existing, addition, minimum)
    assert merge.text == existing + addition[merge.overlap :]


@given(st.text(), st.text())
def test_no_part_of_either_text_is_lost(existing, addition):
    merge = merge_continuation(existing, addition)
    assert merge.text.startswith(existing)
    assert merge.text.endswith(addition)
    assert merge.overlap == 0 or merge.overlap >= MIN_OVERLAP


@given(st.text(), st.integers(0, 40))
def test_truncation_returns_a_prefix_that_is_not_longer(text, length):
    assert text.startswith(cut(text, length))
    assert len(cut(text, length)) <= length


@pytest.mark.parametrize("begun", [0, 30, 59])
def test_lines_with_a_common_start_are_told_apart_by_their_ends(begun: int, monkeypatch: pytest.MonkeyPatch):
    lines = [f"- one of the items: {n}\n" for n in range(60)]
    monkeypatch.delattr(continuation_merge, "_overlap_by_prefix_function")  # much slower, and not needed here
    said, again = "".join(lines), "".join(lines[begun:])
    merge = merge_continuation(said, again + "- and on")
    assert merge.overlap + merge.ambiguous == len(again)
    assert merge_continuation(said, again.replace("59", "60")).overlap == 0


ADVERSARIAL = {
    "lines that begin alike": lambda n: (
        ("- one of the items: a\n" * (n // 22)),
        ("- one of the items: b\n" * (n // 22)),
    ),
    "one letter": lambda n: ("a" * n, "a" * n + "b"),
    "one letter, then another": lambda n: ("a" * n + "b", "a" * n),
    "many candidates, none right": lambda n: ("aaaaaaaaaaaab" * (n // 13), "aaaaaaaaaaaac" * (n // 13)),
    "two letters": lambda n: ("ab" * (n // 2), "ab" * (n // 2 - 1) + "aa"),
    "flags out of step": lambda n: ("x" + "🇩" * (n | 1), "🇩" * (n + 8)),
    "marks": lambda n: ("e" + "\u0301" * n, "\u0301" * n),
    "joined": lambda n: ("👩\u200d" * (n // 2), "👩\u200d" * (n // 2 + 3)),
    "a plain overlap": lambda n: ("x" * n + LONG, LONG + "y" * n),
}


@together
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_merging_takes_linear_time(name):
    def merge(size: int) -> None:
        merge_continuation(*ADVERSARIAL[name](size))

    assert grows_linearly(merge, 12_000)


@together
@pytest.mark.parametrize(
    ("existing", "addition", "text"),
    [
        ("Once ", " upon", "Once upon"),
        ("Once ", "upon", "Once upon"),
        ("Once\n", "\n\nupon", "Once\n\nupon"),
        ("Once\n\n", "\nupon", "Once\n\nupon"),
        ("Once ", "\nupon", "Once \nupon"),
        ("Once\r\n", "\nupon", "Once\r\nupon"),
        ("Once", " upon", "Once upon"),
        (" ", " ", " "),
        ("", " upon", " upon"),
    ],
)
def test_whitespace_the_model_did_not_see_is_not_duplicated(existing, addition, text):
    merge = merge_continuation(existing, addition, trimmed=True)
    assert (merge.text, existing + addition[merge.overlap :]) == (text, text)


UNITS = [
    "0, ",
    "ha ",
    '{"a": 1}, ',
    "1,2\n",
    "2026-11-23,0,0\n",
    "|-----|-----|\n",
    "GET /health 200 in 3 ms\n",
    "La la la, hey!\n",
]


@given(
    st.sampled_from(UNITS),
    st.integers(3, 12),
    st.sampled_from(["", "[", "a,b\n"]),
    st.sampled_from(["", "]", "end"]),
    st.data(),
)
def test_a_provider_that_never_repeats_loses_nothing_of_a_repetitive_text(unit, copies, head, tail, data):
    text = head + unit * copies + tail
    said, place = "", 0
    while place < len(text):
        # A single further copy in a whole call cannot be told from a repeat.
        step = data.draw(st.integers(2 * len(unit), 4 * len(unit)))
        said, place = merge_continuation(said, text[place : place + step]).text, place + step
    assert said == text


PROSE = " ".join(f"word{n} follows number {n * 7919 % 1000}" for n in range(60))


@given(st.integers(20, len(PROSE) - 20), st.integers(12, 60), st.integers(1, 300))
def test_a_provider_that_repeats_its_output_adds_it_once(cut_at, repeats, more):
    said, addition = PROSE[:cut_at], PROSE[max(0, cut_at - repeats) : cut_at + more]
    # Where the text around the repeat is like it, it may be a further copy, and both are kept.
    assume(not is_ambiguous(said, addition, min(cut_at, repeats), MIN_OVERLAP))
    merge = merge_continuation(said, addition)
    assert merge.text == PROSE[: cut_at + more]
    assert merge.ambiguous == 0


@given(st.sampled_from(UNITS), st.integers(3, 9), st.booleans())
def test_a_repeat_inside_a_repetition_is_kept_and_marked(unit, copies, repeats):
    said = "first: " + unit * copies
    addition = (unit * copies if repeats else "") + unit + "and an end"
    merge = merge_continuation(said, addition)
    assert merge.text == said + addition
    assert bool(merge.ambiguous) is (len(unit * min(copies, 1 + copies * repeats)) >= 12)


def test_sixty_one_equal_elements_truncated_at_twenty_tokens_are_restored_as_sixty_one():
    elements = ['{"ok": true}'] * 61
    text, said = f"[{', '.join(elements)}]", ""
    for place in range(0, len(text), 73):
        said = merge_continuation(said, text[place : place + 73]).text
    assert said == text


@pytest.mark.parametrize("said", ["what was", "One sentence that is long enough.", "ha ha ha ha ha "])
def test_a_known_echo_of_the_prefill_is_removed_however_short_it_is(said):
    how = Joining(exact=True, echo=True)
    assert join(said, said + " and more", how) == Merge(said + " and more", len(said))
    assert join(said, "and more", how).overlap == 0


def test_an_exact_continuation_drops_only_a_complete_echo_of_twelve_characters_or_more():
    how = Joining(exact=True)
    assert join("what was", "what was", how).text == "what waswhat was"
    long = "One sentence that is long enough."
    assert join(long, long + " More.", how).text == long + " More."
    assert join(long, "is long enough. More.", how).overlap == 0
    refrain = join("ha ha ha ha ha ", "ha ha ha ha ha ha", how)
    assert (refrain.overlap, refrain.ambiguous) == (0, 15)


def test_histories_of_earlier_rules_drop_an_ambiguous_overlap():
    how = Joining(rule=Rule.DROPS)
    assert join("0, 0, 0, 0, 0, ", "0, 0, 0, 0, 0, 1", how).text == "0, 0, 0, 0, 0, 1"


class Counted(str):
    """A text that counts how many of its characters were looked at one by one."""

    __slots__ = ("looks",)

    def __new__(cls, text: str) -> "Counted":
        made = super().__new__(cls, text)
        made.looks = 0
        return made

    def __getitem__(self, index):
        self.looks += isinstance(index, int)
        return super().__getitem__(index)


@pytest.mark.parametrize("had", [10_000, 1_000_000])
def test_joining_reads_no_more_of_a_long_text_than_the_length_of_the_new_text(had):
    """A short continuation of one letter, whose overlap takes the prefix function to find."""
    existing, addition = Counted("word " * (had // 5) + "b" + "a" * 100), "a" * 2_000 + "c"
    assert merge_continuation(existing, addition).ambiguous == 100
    assert 100 < existing.looks <= 5 * len(addition)
