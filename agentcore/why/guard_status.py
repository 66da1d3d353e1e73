"""How a guard stood when it was asked."""

from typing import NamedTuple


class Stand(NamedTuple):
    """`open`: its condition held; None where that is not recorded. `miss`: how it stood, in words; `counted`: by a
    limit, so that a number says how near it was."""

    open: bool | None
    miss: str
    counted: bool = False
