"""Whether what a continuation begins with is a repeat, or what the author said next: told by the text itself.

An *overlap* is a passage that ends the text so far and begins the continuation. A model that was asked to go on may
have said it again; an author may have written it twice. Where the second is possible the overlap is *ambiguous*, and
all of it is kept, for losing what a provider sent is the worse error. It is ambiguous where one of these holds:

- *repetition*: the passage repeats itself, so that a shorter overlap would fit as well, or about two and a half copies
  of it stand in a row;
- *said before*: it stands earlier in the text too;
- *whole units*: it consists of whole sentences, clauses, lines, cells or list items, which authors do say twice;
- *few words*: a word stands twice in a row in it ("very very"), or a third of its words have stood in it before;
- *going on*: the text around the passage goes on as if the passage, or a period of it, came once more, for two thirds
  of the least overlap, or for a quarter where the continuation ends before it could show more: rows and log lines of
  which an earlier seam has spoilt some;
- *foreseeable*: going by which letters follow which in this text, it is no more unlikely than two bits for each
  character of the least overlap (24 bits: one in 17 million): figures in a table, bits, few words over and over.

Some passages are told to be repeats all the same, unless they repeat themselves: all of a text of 200 characters or
more (the model started over), an answer that is the one before it letter for letter (the model is stuck), and 500
characters or more that stand nowhere else.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from math import log2

COPIES = 2.5  #: copies of a passage around a seam from which on the text is a repetition
STARTED_OVER = 200  #: characters, all of the text so far, from which on they are no unit that was said twice
BLOCK = 500  #: characters from which on a passage that stands nowhere else is no unit that was said twice
BITS = 2  #: for each character of the least overlap
_ENDS = ".!?…;|>)]}。！？；」』"  #: what sentences, cells and items end with, beside the end of a line
_PARTS = ",:，、："  #: what shorter units end with too
_CLOSED = "|>)]}\"'”"  #: what stands before such a mark where a long unit ends
_LONG = 40  #: characters from which on an overlap is no such shorter unit
_LEARNT = 1000  #: characters before the overlap, from which it is learnt what follows what
_SURPRISING = 64  #: characters from which on a passage without few words is no chance
_BLANKS = 80  #: characters in which the end of a unit is looked for
_CONTEXT = 4  #: characters by which the next is foreseen
_DOUBT = 2  #: how often a context must have been seen to count as much as the shorter one
_LETTERS = 64  #: as many different ones as any text may have
_WORDS = re.compile(r"[^\W_]+")


def is_ambiguous(
    existing: str,
    addition: str,
    overlap: int,
    minimum: int,
    *,
    anew: bool = False,
    goes_on: bool = True,
    ends: bool = True,
) -> bool:
    """Whether the first `overlap` characters of the addition, which also end what exists, may be no repeat.

    `anew`: they are all that exists, and whoever was asked may well have begun anew; or they are all of the addition
    and of the answer before it. `goes_on`: a repetition that goes on around them counts. `ends`: also one that the end
    of the addition breaks off.
    """
    passage = addition[:overlap]
    borders = prefix_function(passage)
    if _repeats_itself(borders, minimum) or is_surrounded(existing, addition, overlap):
        return True
    if anew or overlap == len(existing) >= STARTED_OVER:
        return False
    if existing.find(passage, 0, len(existing) - 1) >= 0:
        return True
    if goes_on and _goes_on(existing, addition, borders, minimum, ends=ends):
        return True
    if overlap >= BLOCK:
        return False
    before = existing[max(0, len(existing) - overlap - _LEARNT) : len(existing) - overlap]
    return (
        _of_whole_units(existing, addition, overlap)
        or _says_few_words(passage)
        or _is_foreseeable(before, passage, minimum)
    )


def _repeats_itself(borders: list[int], minimum: int) -> bool:
    """Whether a shorter overlap fits as well: the passage ends as it begins, by half of `minimum` characters or by a
    fifth of its own."""
    border, length = borders[-1], len(borders)
    return 2 * border >= minimum or 2 * length >= COPIES * (length - border)


def _goes_on(existing: str, addition: str, borders: list[int], minimum: int, *, ends: bool) -> bool:
    """Whether the text before and after the passage is as the passage foretells by one of its periods."""
    overlap, enough = len(borders), _enough(minimum)
    before = existing[max(0, len(existing) - overlap - enough) : len(existing) - overlap][::-1]
    mirrored = addition[:overlap][::-1]
    for period in _periods(borders):
        left = alike_at_start(before, mirrored[overlap - period :])
        right = alike_at_start(addition[overlap : overlap + enough], addition[overlap - period :])
        shown, broken_off = left + right + overlap - period, ends and right == len(addition) - overlap < enough
        # Words such as “the” often stand at both ends of a passage, and show nothing.
        if shown >= enough or (broken_off and left + right > 1 and shown >= minimum // 4):
            return True
    return False


def may_go_on(text: str, overlap: int, minimum: int) -> bool:
    """Whether the addition, of which `text` came so far, may yet show that a repetition goes on after the passage."""
    rest = text[overlap:]
    if len(rest) >= _enough(minimum):
        return False
    return any(text.startswith(rest, overlap - period) for period in _periods(prefix_function(text[:overlap])))


def _enough(minimum: int) -> int:
    """Characters by which a repetition must go on around a passage."""
    return max(1, 2 * minimum // 3)


def _periods(borders: list[int]) -> Iterator[int]:
    """The lengths of text that a passage can be taken to repeat, shortest first; the last is its own."""
    length = border = len(borders)
    while border:
        border = borders[border - 1]
        yield length - border


def is_surrounded(existing: str, addition: str, overlap: int) -> bool:
    """Whether the text goes on repeating the passage before or after its two copies."""
    before, after = around(existing, addition, overlap)
    return before + after >= (COPIES - 2) * overlap


def around(existing: str, addition: str, overlap: int) -> tuple[int, int]:
    """How many characters before and after the two copies of the passage are as in a further copy."""
    passage = addition[:overlap]
    before = existing[max(0, len(existing) - 2 * overlap) : len(existing) - overlap]
    return alike_at_start(before[::-1], passage[::-1]), alike_at_start(addition[overlap : 2 * overlap], passage)


def _of_whole_units(existing: str, addition: str, overlap: int) -> bool:
    """Whether a unit ends at the seam, and one begins where the passage does. The two copies may lie a little to the
    left or to the right of the seam, where the text around them is like them."""
    before, after = around(existing, addition, overlap)
    text = existing[max(0, len(existing) - overlap - before - _BLANKS) :]
    seam = len(text)
    text += addition[: overlap + after + 1]
    in_words = any(map(str.isalpha, addition[:overlap]))
    short = not in_words or overlap < min(_LONG, len(existing))  # in words, all there is was rather begun anew
    return any(
        _is_unit(text, at - overlap, at, short=short) and not _in_word(text, at + overlap)
        for at in range(seam - before, seam + after + 1)
    )


def _is_unit(text: str, start: int, end: int, *, short: bool) -> bool:
    """Whether a unit begins and ends at these places. A short one may be a clause, which prose begins with a letter
    that is written small; that is no sign of one."""
    first = text[start : start + _BLANKS].lstrip()[:1]
    begins = not first.islower() and (_ends(text, start, _ENDS + _PARTS) or not _in_word(text, start))
    tight = not any(map(str.isspace, text[end - 1 : end + 1]))  # as in a row of figures, not in prose
    if short and (begins or (tight and _ends(text, start, _PARTS))) and _ends(text, end, _ENDS + _PARTS):
        return True
    return _ends(text, end, _ENDS) and (begins or _ends(text, start, _ENDS))


def _ends(text: str, at: int, marks: str) -> bool:
    """Whether a unit ends before this place, or between the blanks around it. A wide gap ends one too."""
    before = text[max(0, at - _BLANKS) : at]
    left = before.rstrip()
    if not left or left[-1] in marks:
        return True
    after = text[at : at + _BLANKS]
    if "\n" in before[len(left) :] or "\n" in after[: len(after) - len(after.lstrip())]:
        return True
    return left[-1] in _PARTS and left[:-1].rstrip()[-1:] in _CLOSED


def _in_word(text: str, at: int) -> bool:
    return text[at - 1].isalnum() and text[at : at + 1].isalnum()


def _says_few_words(passage: str) -> bool:
    """Whether a word stands twice in a row in a short passage, or a third of the words of a longer one are not new."""
    words = passage.split() if len(passage) < STARTED_OVER else []
    bare = _WORDS.findall(passage.casefold()) if len(passage) < _LONG else []
    few = len(words) - len(set(words)) >= max(1, len(words) / 3)
    return few or any(one == other for one, other in pairwise(bare))


def _is_foreseeable(before: str, passage: str, minimum: int) -> bool:
    return len(passage) <= _SURPRISING and _bits(before, passage, BITS * minimum) < BITS * minimum


@lru_cache(maxsize=256)
def _bits(before: str, passage: str, enough: float) -> float:
    """How unlikely the passage is after this text, in bits, by what follows what there; counted until it is enough."""
    places = range(len(before) + 1)
    seen = Counter(before[at - length : at] for length in range(_CONTEXT + 2) for at in places[length:])
    bits, text = 0.0, before[-_CONTEXT:]
    for character in passage:
        bits -= log2(_chance(seen, text, character))
        if bits >= enough:
            break
        seen.update((text + character)[start:] for start in range(len(text) + 2))
        text = (text + character)[-_CONTEXT:]
    return bits


def _chance(seen: Counter[str], text: str, character: str) -> float:
    """By what followed the last characters before, each longer context correcting the shorter one."""
    chance = 1 / _LETTERS
    for start in range(len(text), -1, -1):
        context = text[start:]
        chance = (seen.get(context + character, 0) + _DOUBT * chance) / (seen.get(context, 0) + _DOUBT)
    return chance


def alike_at_start(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def prefix_function(pattern: str) -> list[int]:
    """For each beginning of the pattern, the length of the longest text that both begins and ends it."""
    borders = [0] * len(pattern)
    matched = 0
    for index in range(1, len(pattern)):
        while matched and pattern[matched] != pattern[index]:
            matched = borders[matched - 1]
        matched += pattern[matched] == pattern[index]
        borders[index] = matched
    return borders
