"""Nothing received is lost at a seam: a provider that is really simulated, by its own tokens, with the truth known."""

import json
import random
import re
from collections.abc import Callable

import pytest

from agentcore import ChatResponse, NormalizedStopReason, TokenUsage, merge_continuation
from agentcore.continuation_merge import Joining, Rule, join, join_broken_off
from agentcore.machine.accounting import rule_of
from tests.agentcore.playbook import Playbook, ended, responded, started, truncated
from tests.agentcore.time_growth import grows_linearly
from tests.together import together

TOKENS = re.compile(r" ?\w{1,5}|\s|[^\w\s]")


def _any(*kinds: str) -> Callable[[random.Random], str]:
    return lambda chance: "".join(chance.choice(kinds) for _ in range(40))


def _word(chance: random.Random) -> str:
    return "".join(chance.choices("etaoinshrdlu", k=6))


#: Kinds of text in which an author says things twice in a row, or nearly; each is made anew from chance.
KINDS: dict[str, Callable[[random.Random], str]] = {
    "equal elements": lambda _: "[" + ", ".join(['{"a":0}'] * 61) + "]",
    "records": lambda c: json.dumps([{"ok": c.random() < 0.5, "kind": "b"} for _ in range(25)]),
    "csv, few kinds": _any("1,open,none,0\n", "2,closed,none,0\n", "3,open,some,1\n"),
    "csv with a counter": lambda _: "".join(f"{n},unknown,unknown,0,0\n" for n in range(30)),
    "table": _any("| yes | - | - |\n", "| no | - | - |\n", "|-----|---|---|\n"),
    "refrain": lambda c: "".join(_word(c) + "\nand so we sing it all again, my dear\n" for _ in range(9)),
    "chorus twice": lambda c: _word(c) + "\n" + "la la la, oh my love\nla la li, oh my dove\n" * 2 + _word(c) * 6,
    "sentence twice": lambda c: _word(c) * 6 + " " + "I will say it again. " * 2 + _word(c) * 6,
    "emphasis": lambda c: _word(c) * 6 + " " + "very very important thing " * 2 + _word(c) * 6,
    "laughs": lambda _: "ha " * 90,
    "log": _any("GET /health 200\n", "GET /ready 200\n", "POST /login 401\n"),
    "code": _any("    return None\n", "    x = 1\n", "def run():\n"),
    "code in a line": _any("x += 1; ", "y += 1; ", "f(x, y); "),
    "items": lambda _: "- to be determined\n" * 20,
    "dialogue": _any("A: I do not know.\n", "B: Neither do I.\n"),
    "hex": _any("00 00 00 00 00 00\n", "87 80 bc 45 0c 56\n"),
    "bits": _any("0", "1"),
    "spaced bits": _any("0 ", "1 "),
    "Chinese": _any("今天天气很好，我们去公园散步。", "他没有回答我的问题，我也不知道。"),
    "emoji": _any("😀", "👍🏽", "🇩🇪", "🎉"),
    "blanks": _any("\n", "        ", "    x\n", "\t\t"),
    "markup": _any("<li>none</li>", "<li><b/></li>", "<li>some</li>"),
    "dates": _any("2026-11-23, ", "2026-11-24, "),
}


@together
@pytest.mark.parametrize("kind", KINDS)
def test_a_provider_that_never_repeats_loses_nothing_wherever_it_is_cut(kind: str):
    chance = random.Random(kind)
    for text in (KINDS[kind](chance) for _ in range(2)):
        for cut in range(1, len(text)):
            end = min(len(text), cut + chance.choice([20, 60, 200]))
            assert merge_continuation(text[:cut], text[cut:end]).text == text[:end], (text[:cut], text[cut:end])


@together
@pytest.mark.parametrize("repeats", [[0], [5], [0, 5], [12, 0, 0]], ids=["never", "always", "sometimes", "seldom"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_at_any_seam_of_a_provider_that_repeats_tokens(kind: str, repeats: list[int]):
    tokens = TOKENS.findall(KINDS[kind](random.Random(kind)))
    starts = [0, *[sum(map(len, tokens[:n])) for n in range(1, len(tokens) + 1)]]
    text, place, call = "".join(tokens), 25, 0
    while place < len(tokens):
        begin, end = max(0, place - repeats[call % len(repeats)]), min(len(tokens), place + 20)
        merge = merge_continuation(text[: starts[place]], text[starts[begin] : starts[end]])
        again = starts[place] - starts[begin]
        assert merge.overlap <= again, "more was removed than was said twice"
        assert merge.overlap == again or merge.ambiguous >= again or again < 12 or kind == "emoji"
        place, call = end, call + 1


LINES = {
    "log": "".join(f"2026-01-01T00:00:{n // 4:02d} WARN worker-7 was refused, retrying in 5 s\n" for n in range(24)),
    "retries": "INFO started\n" + "2026-01-01 WARN connection refused, retrying\n" * 12 + "ERROR gave up\n",
    "rows": "name,city,state\n" + "Smith,Springfield,IL\n" * 15 + "Doe,Springfield,IL\n" * 15,
    "objects": "[\n" + ",\n".join(['  {"id": 7, "status": "pending", "retries": 0}'] * 30) + "\n]",
    "refrain": "And the ship goes down to the sea again,\nwith a hey and a ho and a heave away.\n" * 10,
    "verses": ("O Captain! my Captain!\nRow, row, row your boat,\nGently down the stream.\n") * 9,
}


def _lost(text: str, cap: int, repeats: list[int], rule: Rule) -> tuple[int, int]:
    """Seams at which more was removed than was said twice, and all seams; each call goes on from what was kept."""
    tokens = TOKENS.findall(text)
    said, place, call, lost = "".join(tokens[:cap]), cap, 0, 0
    while place < len(tokens):
        begin = place - repeats[call % len(repeats)]
        merge = join(said, "".join(tokens[begin : begin + cap]), Joining(rule=rule))
        lost += merge.overlap > len("".join(tokens[begin:place]))
        said, place, call = merge.text, begin + cap, call + 1
    return lost, call


@pytest.mark.parametrize(
    ("repeats", "share"),
    [([0], 0), ([3], 0.001), ([1], 0.012), ([0, 1, 2, 0, 5], 0.002)],
    ids=["never", "three", "one", "sometimes"],
)
def test_lines_damaged_by_an_earlier_seam_are_recognized_by_their_neighbours(repeats: list[int], share: float):
    """Where a repeat was kept the lines are no longer alike, so the line that is cut next stands nowhere else."""
    found = [_lost(text, cap, repeats, Rule.GOES_ON) for text in LINES.values() for cap in range(9, 60, 3)]
    lost, seams = map(sum, zip(*found, strict=True))
    assert lost <= share * seams, (lost, seams)


def test_a_turn_of_earlier_rules_loses_the_line_that_it_lost_before():
    said = "WARN refused, retryi retrying\n2026-01-01 WARN connection refused, retrying\n2026-01-01"
    more = "01 WARN connection refused, retrying\n2026-01-01 WARN connection refused,"
    for revision, lines in ((2, 2), (3, 3)):
        story = Playbook(revision=revision) >> started() >> truncated(said) >> ended(more)
        assert story.snapshot.output_text.count("WARN connection") == lines
        assert ("ambiguous_seam" in story.snapshot.flagged) is (revision == 3)


PROSE = (
    "A filter in the gateway decides how far an answer may go. Most providers name the limit that was met, and a few "
    "say nothing at all. Whoever reads the record afterwards wants to know which of the numbers was too small; the "
    "transcript alone rarely shows it. So every attempt keeps its own account of tokens, seconds and reasons."
)


@pytest.mark.parametrize("words", [3, 4, 6, 9])
def test_prose_repeated_from_mid_sentence_is_joined_cleanly(words: int):
    ends = [found.end() for found in re.finditer(r"\w(?= \w)", PROSE)][words:]
    for end in ends:
        begin = [found.start() for found in re.finditer(r" ", PROSE[:end])][-words]
        if end - begin >= 12 and not re.search(r"[.,;]", PROSE[begin:end]):
            assert merge_continuation(PROSE[:end], PROSE[begin:]).text == PROSE


def test_a_text_repeated_from_its_start_is_joined_even_though_it_ends_with_a_sentence():
    said = PROSE[: PROSE.index("So every")]
    assert merge_continuation(said, PROSE).text == PROSE


def test_a_model_that_repeats_the_same_answer_is_stuck_and_its_answer_is_kept_once():
    story = Playbook(max_continuations=9, max_total_completion_tokens=9999) >> started() >> truncated("First this. ")
    for _ in range(3):
        story = story >> truncated("Then a whole other sentence.")
    assert story.snapshot.end.terminal_reason == "repetition"
    assert story.snapshot.output_text == "First this. Then a whole other sentence."


#: Lines and records of which a provider that repeats tokens sometimes lost some by rules of revision 7: the answer so
#: far, and the continuation, whose first characters the author wrote once more.
SPOILT = {
    "rows": ('"x","north",0\n"y","south",0\n"x', 'x","north",0\n"y","south",0\n"x"'),
    "records": (
        "- name: step\n  run: make test\n  if: always()\n- name",
        " name: step\n  run: make test\n  if: always()\n- name:",
    ),
    "markup": (
        "<item><id>0</id><v>null</v></item>\n<item><id>1</id><v>null</v></item>\n<item",
        "item><id>0</id><v>null</v></item>\n<item><id>1</id><v>null</v></item>\n<item>",
    ),
}


@pytest.mark.parametrize("kind", SPOILT)
def test_a_repetition_interrupted_by_the_end_of_an_answer_is_kept(kind: str):
    existing, addition = SPOILT[kind]
    assert join(existing, addition, Joining(rule=Rule.GOES_ON)).overlap > 15
    found = join(existing, addition)
    assert (found.overlap, found.ambiguous > 15) == (0, True)


@pytest.mark.parametrize("revision", range(4, 9))
def test_a_repetition_at_the_end_of_an_answer_is_kept_since_revision_8_and_dropped_as_before_earlier(revision: int):
    assert rule_of(revision) is (Rule.BROKEN_OFF if revision == 8 else Rule.GOES_ON)


def test_repeated_elements_are_kept_even_though_an_answer_equals_the_one_before():
    story = Playbook(max_continuations=9, max_total_completion_tokens=9999) >> started() >> truncated("[")
    for _ in range(5):
        story = story >> truncated("1, 1, 1, 1, 1, ")
    assert (story >> ended("1]")).snapshot.output_text == f"[{'1, ' * 25}1]"


def test_elements_partly_repeated_by_the_provider_are_kept_and_marked():
    text = "[" + ", ".join(['{"a":0}'] * 61) + "]"
    merge = merge_continuation(text[:100], text[70:])
    assert merge.text == text[:100] + text[70:]
    assert merge.ambiguous >= 30


@pytest.mark.parametrize(("revision", "verses"), [(5, 1), (6, 4)])
def test_a_generated_refrain_is_not_an_echo_and_is_kept_whole(revision: int, verses: int):
    """A connection that continues the text itself; each verse is as long as `max_tokens`."""
    verse = "row row row your boat, gently down the stream\n"
    story = Playbook(extra={"prefix": True}, max_tokens=11, revision=revision) >> started()
    for ends in (truncated, truncated, truncated, ended):
        if story.snapshot.end is None:
            story = story >> ends(verse, tokens=11)
    assert story.snapshot.output_text == verse * verses
    assert ("ambiguous_seam" in story.snapshot.flagged) is (revision == 6)


@pytest.mark.parametrize(("usage", "verses"), [(None, 1), (TokenUsage(20, 11, 11), 1), (TokenUsage(20, 11), 2)])
def test_a_complete_repeat_of_the_text_is_an_echo_unless_tokens_were_counted_for_it(usage, verses):
    story = Playbook(extra={"prefix": True}, max_tokens=11) >> started() >> truncated("One whole verse.", tokens=11)
    cut = ChatResponse("One whole verse.", usage=usage, stop_reason=NormalizedStopReason.MAX_TOKENS)
    assert (story >> responded(cut)).snapshot.output_text == "One whole verse." * verses


@pytest.mark.parametrize(("revision", "copies"), [(None, 54), (1, 54), (2, 64), (3, 64)])
def test_stored_histories_are_joined_by_the_rule_of_their_revision(revision: int | None, copies: int):
    """An array of 61 elements, cut after 100 characters by a provider that says 30 of them again."""
    text = "[" + ", ".join(['{"a":0}'] * 61) + "]"
    story = Playbook(revision=revision) >> started() >> truncated(text[:100]) >> ended(text[70:])
    assert story.snapshot.output_text.count('"a":0') == copies
    assert ("ambiguous_seam" in story.snapshot.flagged) is (revision in (2, 3))
    assert Joining().rule is max(Rule)


def test_an_incomplete_repeat_is_dropped_only_where_the_text_certainly_contains_it():
    how = Joining()
    dropped = join_broken_off(PROSE, "every attempt keeps its", how)
    assert dropped is not None
    assert dropped.overlap == len("every attempt keeps its")
    rows = "1,none,none,0\n" * 9
    kept = join_broken_off(rows, "1,none,none,0\n1,no", how)
    assert kept is not None
    assert (kept.overlap, kept.ambiguous) == (0, 18)
    assert join_broken_off(PROSE, "something new", how) is None


def test_a_short_echo_of_a_prefill_is_kept_and_marked():
    merge = join("INFO heart", "INFO heartbeat", Joining(exact=True))
    assert (merge.text, merge.ambiguous) == ("INFO heartINFO heartbeat", len("INFO heart"))


@together
@pytest.mark.parametrize(
    "unit",
    ["a, ", "ab", "1,open,none,0\n2,open,none,0\n", "word ", "\n"],
    ids=["list", "letters", "rows", "words", "blanks"],
)
def test_detecting_overlaps_takes_linear_time(unit: str):
    def merge(size: int) -> None:
        text = unit * (size // len(unit))
        merge_continuation("x" + text, text + "y")

    assert grows_linearly(merge, 12_000)
