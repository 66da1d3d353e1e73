"""Joins a continuation to the text that it continues, and removes only what the model repeated.

Linear time: candidates are found by the string search of the interpreter, by their end, for lines that begin alike are
many; text that repeats itself too much for that falls back to the prefix function (Knuth, Morris and Pratt). A seam
never splits a grapheme.

An overlap that the author may have written twice is *ambiguous*, and nothing of it is removed: see
`agentcore.overlaps`.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

from agentcore.argument_validation import WrongInput, door, required
from agentcore.overlaps import COPIES, is_ambiguous, is_surrounded, prefix_function
from agentcore.values import quickly_made

TAIL = 400  #: The number of characters at the end of the answer that are searched for interrupted text.
MIN_OVERLAP = 12  #: The default minimum length of an overlap in characters. A shorter repetition may well be intended.
_QUICK_TRIES = 16  #: whole comparisons, each as long as the text
_NEAR = 64  #: characters by whose end candidates are found
_ZWJ = "\u200d"


class Rule(IntEnum):
    """How an ambiguous overlap is handled, by the policy's revision: stored turns are joined as before."""

    DROPS = 0  #: all are removed
    TURNS = 1  #: some are detected by rotating the passage, and kept
    TELLS_APART = 2  #: detected by `agentcore.overlaps`, and kept
    GOES_ON = 3  #: the same, and a repetition around the passage counts too
    BROKEN_OFF = 4  #: the same, also a repetition that the end of the continuation interrupts


@quickly_made
@dataclass(frozen=True, slots=True)
class Merge:
    """The joined text, and how many characters of the addition were dropped as a repeat.

    `ambiguous`: how many characters at the beginning of the addition may be a repeat, and were kept.
    """

    text: str
    overlap: int  #: characters dropped from the addition
    ambiguous: int = 0  #: characters of the addition that may be a repeat, and were kept


@quickly_made
@dataclass(frozen=True, slots=True)
class Joining:
    """What is known about how a continuation was requested."""

    min_overlap: int = MIN_OVERLAP  #: characters; a shorter overlap is kept
    trimmed: bool = False  #: the model continued the text without its trailing whitespace
    exact: bool = False  #: the model continues the text itself, and repeats nothing
    echo: bool = False  #: the server repeats the text that it continues
    anew: bool = False  #: the answer was requested from the start, as in a repair
    rule: Rule = Rule.BROKEN_OFF  #: how an ambiguous overlap is handled
    said: int = 0  #: length of the last answer that added text; it is at the end of the text so far
    generated: bool = False  #: the provider counted output tokens for the addition, so it is not an echo


DEFAULT = Joining()  #: The joining of a continuation that a hint requested, if nothing else is known.


@door
def merge_continuation(existing: str, addition: str, *, min_overlap: int = MIN_OVERLAP, trimmed: bool = False) -> Merge:
    """Remove the longest overlap between the end of `existing` and the start of `addition`, from `min_overlap` up,
    unless it is ambiguous.

    `trimmed`: the model continued `existing` without its trailing whitespace, so repeated whitespace is dropped,
    however short.
    """
    required(existing, str, "existing")
    required(addition, str, "addition")
    required(min_overlap, int, "min_overlap")
    if min_overlap < 0:
        raise WrongInput(f"min_overlap must be a whole number of at least 0, not {min_overlap}.")
    required(trimmed, bool, "trimmed")
    return join(existing, addition, Joining(min_overlap, trimmed))


def join(existing: str, addition: str, how: Joining = DEFAULT) -> Merge:
    """The continuation joined to the text that it continues, depending on how it was requested."""
    dropped, ambiguous = seam(existing, addition, how)
    return Merge(existing + addition[dropped:], dropped, ambiguous)


def seam(existing: str, addition: str, how: Joining = DEFAULT) -> tuple[int, int]:
    """The same as numbers: how many characters at the start of the addition are dropped, and how many possible repeats
    are kept. At least one of the two is 0."""
    if how.exact:
        echoed = _echoed(existing, addition, trimmed=how.trimmed)
        surely = echoed >= how.min_overlap and not (how.generated and echoed == len(addition))
        overlap = echoed if how.echo or surely else 0
    else:
        echoed, overlap = 0, _overlap(existing, addition, max(1, how.min_overlap))
    if overlap:
        return (0, overlap) if not how.echo and _ambiguous(existing, addition, overlap, how) else (overlap, 0)
    if echoed and how.rule >= Rule.TELLS_APART:
        return 0, echoed
    return (_space_said_again(existing, addition) if how.trimmed else 0), 0


def join_broken_off(existing: str, addition: str, how: Joining, *, asked_again: bool = False) -> Merge | None:
    """Join an addition that was interrupted before it added anything new; None if it did add something new.

    It is kept if the author may have repeated it, unless it is certain to be requested again.
    """
    if not is_repetition(existing, addition):
        return None
    at = existing.rfind(addition)
    begun = existing[at:]
    told = how.rule < Rule.TELLS_APART or asked_again
    if told or (existing.find(addition) == at and not _apart(existing, begun, len(begun), how)):
        return Merge(existing, len(addition))
    return Merge(existing + addition, 0, len(addition))


def _echoed(existing: str, addition: str, *, trimmed: bool) -> int:
    """The length of the echo of an exact continuation: the whole text so far, as it is or as it was sent. One that is
    not known to be sent again is surely an echo from `min_overlap` characters up, unless it is all that came and tokens
    were counted for it."""
    if existing and addition.startswith(existing):
        return len(existing)
    sent = existing.rstrip() if trimmed else ""
    return len(sent) if sent and addition.startswith(sent) else 0


def _turned(existing: str, addition: str, overlap: int) -> bool:
    """Rule 1: a period is found only where the overlap is a whole number of them, and only lines are looked for."""
    passage = addition[:overlap]
    period = (passage + passage).find(passage, 1)
    if 2 * overlap >= COPIES * period or is_surrounded(existing, addition, overlap):
        return True
    return "\n" in passage and existing.find(passage, 0, len(existing) - 1) >= 0


def _ambiguous(existing: str, addition: str, overlap: int, how: Joining) -> bool:
    match how.rule:
        case Rule.DROPS:
            return False
        case Rule.TURNS:
            return _turned(existing, addition, overlap)
        case _:
            anew = (how.exact or how.anew) and overlap >= len(existing.rstrip())
            stuck = overlap == len(addition) == how.said
            return _apart(existing, addition, overlap, how, anew=anew or stuck)


def _apart(existing: str, addition: str, overlap: int, how: Joining, *, anew: bool = False) -> bool:
    goes_on, ends, least = how.rule >= Rule.GOES_ON, how.rule >= Rule.BROKEN_OFF, max(1, how.min_overlap)
    return is_ambiguous(existing, addition, overlap, least, anew=anew, goes_on=goes_on, ends=ends)


def _space_said_again(existing: str, addition: str) -> int:
    trailing = existing[len(existing.rstrip()) :]
    leading = addition[: len(addition) - len(addition.lstrip())]
    lengths = range(min(len(trailing), len(leading)), 0, -1)
    return next((length for length in lengths if trailing.endswith(leading[:length])), 0)


def cut(text: str, length: int) -> str:
    """At most `length` characters of the text, cut where no grapheme is split."""
    if len(text) <= length:
        return text
    length = int(length)  # a stored limit may be no whole number
    while length > 0 and splits_grapheme(text, length):
        length -= 1
    return text[:length]


def is_repetition(existing: str, addition: str) -> bool:
    """Whether all of `addition` occurs near the end of `existing` and is not blank, so that it is a repetition."""
    return bool(addition.strip()) and addition in existing[-(TAIL + len(addition)) :]


def _overlap(existing: str, addition: str, minimum: int) -> int:
    if len(existing) < minimum or addition.find(existing[-minimum:], 0, len(existing)) < 0:
        return 0  # nearly every continuation: an overlap ends as the text so far does
    longest = min(len(existing), len(addition))
    near = max(_NEAR, minimum)
    long = _alike(existing, addition, near, longest)
    short = _alike(existing, addition, minimum, min(longest, near - 1))
    for tried, length in enumerate(chain(long, short)):
        if tried == _QUICK_TRIES:
            return _overlap_by_prefix_function(existing, len(existing) - length, addition, minimum)
        if existing.endswith(addition[:length]) and _clean(existing, addition, length):
            return length
    return 0


def _alike(existing: str, addition: str, near: int, longest: int) -> Iterator[int]:
    """The lengths, longest first, at which the last `near` characters of an overlap agree."""
    if longest < near:
        return
    end = existing[-near:]
    position = addition.rfind(end, 0, longest)
    while position >= 0:
        yield position + near
        position = addition.rfind(end, 0, position + near - 1)


def _clean(existing: str, addition: str, length: int) -> bool:
    return not splits_grapheme(existing, len(existing) - length) and not splits_grapheme(addition, length)


def _overlap_by_prefix_function(existing: str, position: int, addition: str, minimum: int) -> int:
    pattern = addition[: len(existing) - position]
    borders = prefix_function(pattern)
    matched = 0
    for character in existing[position:]:
        while matched and (matched == len(pattern) or pattern[matched] != character):
            matched = borders[matched - 1]
        matched += pattern[matched] == character
    if matched < minimum:
        return 0
    here, there = _cuts(existing, position), _cuts(addition[: len(pattern) + 1], 0)
    while matched >= minimum and not (here[len(pattern) - matched] and there[matched]):
        matched = borders[matched - 1]
    return matched if matched >= minimum else 0


def _cuts(text: str, begin: int) -> bytearray:
    """For every index of the text from `begin` to its end, whether a cut there splits no grapheme; in one pass over
    these, flags counted."""
    clean = bytearray(b"\1" * (len(text) - begin + 1))
    flags = _flags_before(text, begin)
    for index in range(begin, len(text)):
        flag = _is_flag(text[index])
        clean[index - begin] = not (flags % 2 if flag and flags else splits_grapheme(text, index))
        flags = flags + 1 if flag else 0
    return clean


def splits_grapheme(text: str, index: int) -> bool:
    """Whether a cut before `text[index]` would split what a reader sees as one character."""
    if index <= 0 or index >= len(text):
        return False
    before, after = text[index - 1], text[index]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if _ZWJ in (before, after) or _extends(after) or _joins(before, after):
        return True
    return _is_flag(after) and _flags_before(text, index) % 2 == 1


def _extends(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\u1160" <= character <= "\u11ff"  # Hangul vowels and finals
        or "\U000e0020" <= character <= "\U000e007f"  # tags of regional flags
        or character in "\u200c\u0e33\u0eb3\uff9e\uff9f"  # a non-joiner, Thai and Lao AM, halfwidth voicing marks
    )


def _joins(before: str, after: str) -> bool:
    """A Hangul initial takes what follows into its syllable; a virama joins two consonants."""
    if "\u1100" <= before <= "\u115f":
        return "\u1100" <= after <= "\u115f" or "\uac00" <= after <= "\ud7a3"
    return unicodedata.combining(before) == 9 and unicodedata.category(after) == "Lo"


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, index: int) -> int:
    count = 0
    while count < index and _is_flag(text[index - 1 - count]):
        count += 1
    return count
