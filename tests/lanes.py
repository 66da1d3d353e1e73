"""In which order a run takes its tests: each worker begins with something that takes long.

xdist's `worksteal` deals the tests out in even slices, one to each worker, and who has done its own takes from the end
of another's. What takes minutes stands at the beginning of a slice: further behind, it would begin when nothing is left
to do beside it.
"""

import pytest

#: What takes long and mostly waits: for browsers, for processes that start, for leases that run out. Those of one line
#: begin on one worker; of two beginnings that fit a test, the first decides. The browser's are halved.
LONG: tuple[tuple[str, ...], ...] = (
    ("tests/browser/test_t", "tests/browser/test_s", "tests/browser/test_r", "tests/browser/test_o"),
    ("tests/dashboard/bench/test_chaos.py", "tests/dashboard/runtime/"),
    ("tests/browser/",),
    ("tests/dashboard/platform/postgres/",),
)


def dealt(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """All of them, in such an order that each worker's even slice begins with its lines of `LONG`."""
    lines: list[list[pytest.Item]] = [[] for _ in LONG]
    rest: list[pytest.Item] = []
    for item in items:
        line = _line(item)
        (rest if line is None else lines[line]).append(item)
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        slice_ends = len(ordered) + (len(items) - len(ordered)) // (workers - worker)
        ordered += [item for line in lines[worker::workers] for item in line]
        taken = max(0, slice_ends - len(ordered))
        ordered += rest[:taken]
        rest = rest[taken:]
    return [*ordered, *rest]


def _line(item: pytest.Item) -> int | None:
    """None for what needs the suite's own database too, for that has an order of its own."""
    if item.get_closest_marker("django_db"):
        return None
    return next((n for n, places in enumerate(LONG) if item.nodeid.startswith(places)), None)
