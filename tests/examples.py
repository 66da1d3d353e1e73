"""How many examples a property is tried with: a quarter of them for each change, all where `WHYSTOP_EXAMPLES=all`, as
`.ci/run --all` says."""

import os

ALL = os.environ.get("WHYSTOP_EXAMPLES") == "all"
FEWEST = 10
USUAL = 120  #: of a property that names no number


def examples(number: int) -> int:
    """As many of `number` as this run tries."""
    return number if ALL else max(min(number, FEWEST), number // 4)
