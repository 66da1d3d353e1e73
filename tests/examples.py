"""How many examples a property is tried with: a quarter of them for each change, all where `WHYSTOP_EXAMPLES=all`, as
`.ci/run --all` says."""

import os

from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers
from hypothesis.internal.intervalsets import IntervalSet

ALL = os.environ.get("WHYSTOP_EXAMPLES") == "all"
FEWEST = 10
USUAL = 120  #: of a property that names no number


def examples(number: int) -> int:
    """As many of `number` as this run tries."""
    return number if ALL else max(min(number, FEWEST), number // 4)


def without_constants_of_the_tree() -> None:
    """Examples are drawn without the numbers and texts that stand in the source, which Hypothesis mixes in.

    With them every change of a text draws other examples, and each worker reads and parses all modules to find them:
    3 s of a processor in a fresh clone.
    """
    none = providers._local_constants
    providers._get_local_constants = lambda: none


def with_utf_8_known() -> None:
    """Which characters UTF-8 encodes is known: all but the surrogates, and each is read back as it was.

    In a fresh clone Hypothesis encodes all 1.1 million of them to find out, in each worker: 1.8 s of a processor.
    """
    found_out = charmap.intervals_from_codec
    known = (IntervalSet(((0, 0xD7FF), (0xE000, 0x10FFFF))), IntervalSet(()))
    charmap.intervals_from_codec = lambda name: known if name == "utf-8" else found_out(name)
