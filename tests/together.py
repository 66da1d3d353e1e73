"""Thousands of small cases as one test, where starting a test costs more than the case: 3 ms with several workers.

    @together
    @pytest.mark.parametrize("budget", range(1, 400))
    def test_an_answer_never_exceeds_its_budget(budget): ...

All cases run, and the test fails with the name of each that failed and what it failed with. Fixtures are made once for
all cases, so it is for tests that take none, or only those that nothing changes.
"""

import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import pytest

SHOWN = 20  #: failed cases that are told in full; of the others the names
_NAMED = type(pytest.param())
#: How a case fails: also as a program ends that cannot read its arguments, or by skipping, which only a test may.
ENDS = (Exception, SystemExit, pytest.fail.Exception, pytest.skip.Exception)
_LONGEST = 60  #: characters of a value in a case's name
_Row = tuple[Callable[[], str], Mapping[str, Any]]


def together(test: Callable[..., None]) -> Callable[..., None]:
    """The test with all cases of its `parametrize` marks, which stand below this."""
    marks: list[pytest.Mark] = test.pytestmark
    tables = [list(_rows(mark)) for mark in marks if mark.name == "parametrize"]
    cases = [(row, _all(row)) for row in product(*tables)]
    assert cases, "a test without a case proves nothing"
    assert not inspect.iscoroutinefunction(test), "nobody would wait for it"

    def all_cases(**fixtures: Any) -> None:
        failed = list[tuple[str, str]]()
        for row, values in cases:
            try:
                test(**values, **fixtures)
            except ENDS:
                failed.append((_joined(row), traceback.format_exc()))
        if failed:
            pytest.fail(_told(failed, len(cases)), pytrace=False)

    parameters = inspect.signature(test).parameters.values()
    given = [one for one in parameters if one.name not in cases[0][1]]
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(all_cases, name, getattr(test, name))
    all_cases.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
    all_cases.pytestmark = [mark for mark in marks if mark.name != "parametrize"]  # type: ignore[attr-defined]
    return all_cases


def _rows(mark: pytest.Mark) -> Iterator[_Row]:
    """What names each row of a `parametrize` mark, and its arguments.

    Only a case that failed is named, since to write out large values takes long.
    """
    names, rows = mark.args
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    ids = mark.kwargs.get("ids")
    for place, row in enumerate(rows):
        named = isinstance(row, _NAMED)  # what is tried may have an `id` of its own
        values = row.values if named else (row if len(names) > 1 else (row,))
        name = partial(_name, row.id if named else None, ids, place, values)
        yield name, dict(zip(names, values, strict=True))


def _name(own: str | None, ids: Any, place: int, values: Sequence[Any]) -> str:
    if own is None and ids is not None:
        own = "-".join(map(ids, values)) if callable(ids) else list(ids)[place]
    return own or "-".join(map(_short, values))


def _short(value: Any) -> str:
    text = getattr(value, "__name__", None) or (value if isinstance(value, str) else repr(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _joined(rows: tuple[_Row, ...]) -> str:
    return "-".join(name() for name, _ in rows)


def _all(rows: tuple[_Row, ...]) -> dict[str, Any]:
    return {name: value for _, values in rows for name, value in values.items()}


def _told(failed: Sequence[tuple[str, str]], cases: int) -> str:
    lines = [f"{len(failed)} of {cases} cases failed: {', '.join(f'[{name}]' for name, _ in failed)}"]
    lines += [f"[{name}]\n{told}" for name, told in failed[:SHOWN]]
    return "\n\n".join(lines)
