"""Which files a worker of a run compiles: a part of them each, and the others' parts are found compiled.

In a fresh clone nothing is compiled. All workers collect the same tests in the same order at the same time, so each
would compile everything itself: ten seconds of a processor for each of them.
"""

import compileall
import contextlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CHECKOUT = TESTS.parent
PACKAGES = ("agentcore", "dashboard")


def load(config: pytest.Config) -> None:
    """Before a worker collects the whole suite. What cannot be imported is told when it is collected."""
    worker = getattr(config, "workerinput", None)
    if worker is None or TESTS not in {config.rootpath / place for place in config.args}:
        return
    number, workers = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for path in _part([path for package in PACKAGES for path in CHECKOUT.glob(f"{package}/**/*.py")], number, workers):
        compileall.compile_file(path, quiet=2)
    for path in _part([*TESTS.glob("**/test_*.py")], number, workers):
        with contextlib.suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(CHECKOUT).with_suffix("").parts))


def _part(paths: Sequence[Path], number: int, workers: int) -> Sequence[Path]:
    return sorted(paths)[number::workers]
