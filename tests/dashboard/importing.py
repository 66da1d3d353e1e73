"""Files that are sent are imported by the test's own process, where the process of an import is not what is tested.

Django and all that it loads take more than a second of a processor in each of them.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO

from dashboard.ingest.turn_files.import_process import lines_of


class _Given(BytesIO):
    """Closed by who has written all, it is read from its beginning."""

    def close(self) -> None:
        self.seek(0)


class _Here:
    """As much of a `Popen` as an import asks of one."""

    def __init__(self) -> None:
        self.stdin = _Given()
        self.stdout = lines_of(self.stdin)

    def wait(self) -> int:
        return 0

    def kill(self) -> None:
        """Nothing: it has ended when its last answer was read."""


@contextmanager
def here() -> Iterator[_Here]:
    """In place of `import_runner._process`."""
    process = _Here()
    with closing(process.stdout):
        yield process
