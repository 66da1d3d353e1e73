"""That judges are busy: a state of the moment, which must become no finding, no verdict and no history.

`JudgesBusy` is no `Exception`, so that nobody between a judge and whoever can wait takes it for one. Where work begins
that can be done again, or whose client can be told, it is caught, or made a `BusyError` of.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from agentcore.errors import CoreError

BUSY = "All processes that check JSON Schemas are busy. Nothing was changed. Try again in a moment."
#: Of a turn that has ended by it.
UNJUDGED = "The answer could not be checked: the processes that check JSON Schemas were busy. Run the turn again."
SPENT_BY_REQUEST = (
    "Checking the JSON Schemas before this one took all the processor time that one request or import may use for it. "
    "Send the rest in smaller parts, or simplify the schemas."
)
RETRY_SECONDS = 2  #: after which a client may try again


class JudgesBusy(BaseException):
    """All processes that judge by schemas are busy, or none can be started; later one is free."""

    def __init__(self) -> None:
        super().__init__(BUSY)


class JudgingSpent(BaseException):
    """The schemas of this request have taken all the judges' time that one request may take."""

    def __init__(self) -> None:
        super().__init__(SPENT_BY_REQUEST)


class BusyError(CoreError):
    """The same for who handles exceptions: nothing was done."""

    def __init__(self) -> None:
        super().__init__(BUSY)


@contextmanager
def busy_told() -> Iterator[None]:
    """`JudgesBusy` within is a `BusyError` outside."""
    try:
        yield
    except JudgesBusy as busy:
        raise BusyError from busy
