"""Cases that take long, and seldom find what none of the others does: `.ci/run --all` has them tried."""

from typing import Any

import pytest
from _pytest.mark import ParameterSet


def nightly(*values: Any, id: str | None = None) -> ParameterSet:
    """A row of `parametrize` that waits for the night."""
    return pytest.param(*values, id=id, marks=pytest.mark.nightly)
