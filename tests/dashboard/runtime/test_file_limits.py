"""The limit of open files is raised at the start, and connections stay well within it."""

import resource
from collections.abc import Iterator

import pytest

from dashboard.runtime.file_limits import RESERVED, WANTED, connections_within, raise_limit


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_low_limit_is_raised_as_far_as_the_system_allows():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    most = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    assert raise_limit() == most
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, hard)


def test_a_sufficient_limit_stays():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    raise_limit()
    first = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert raise_limit() == min(first[0], max(first[0], WANTED))
    assert first[0] >= limits[0]


@pytest.mark.parametrize(("limit", "connections"), [(1024, 384), (65_536, 32_640), (100, 16)])
def test_connections_leave_room_for_the_database_and_for_calls_to_providers(limit: int, connections: int):
    assert connections_within(limit) == connections
    assert limit < RESERVED + 32 or 2 * connections + RESERVED <= limit
