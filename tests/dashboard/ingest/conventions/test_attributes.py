"""What attributes tell is believed within what a call can be."""

from typing import Any

import pytest

from dashboard.ingest.conventions import tables
from dashboard.ingest.conventions.attributes import seconds_of

TOLD = [
    table for table in vars(tables).values() if isinstance(table, tables.Convention) and "first_token" in table.facts
]


@pytest.mark.parametrize("convention", TOLD, ids=lambda one: one.facts["first_token"][0])
@pytest.mark.parametrize(
    ("told", "seconds"), [(0.5, 0.5), (0, 0.0), (10**400, None), (-1, None), (True, None), (1e300, None), ("x", None)]
)
def test_the_time_to_the_first_token_is_one_that_a_call_can_take(
    convention: tables.Convention, told: Any, seconds: float | None
) -> None:
    assert seconds_of(convention, {convention.facts["first_token"][0]: told}) == seconds


def test_there_are_such_conventions() -> None:
    assert TOLD
