"""A token that asks too often is told when to come back; every answer says what is left."""

import pytest

from dashboard.api.rate_limits import MOST_CALLERS, RateLimiter
from tests.dashboard.api.conftest import Program, said


def test_the_whole_quota_may_be_used_at_once_and_refills_evenly():
    limiter = RateLimiter(60)
    assert [limiter.take("ci", now=0.0).remaining for _ in range(60)] == list(range(59, -1, -1))
    refused = limiter.take("ci", now=0.0)
    assert (refused.remaining, refused.reset, refused.retry_after) == (0, 60, 1)
    assert limiter.take("ci", now=1.0).retry_after is None
    assert limiter.take("ci", now=1.5).retry_after == 1
    assert limiter.take("ci", now=61.5).remaining == 59


def test_callers_have_separate_quotas_and_the_longest_silent_is_forgotten():
    limiter = RateLimiter(1)
    assert limiter.take(0, now=0.0).retry_after is None
    assert limiter.take(0, now=0.0).retry_after == 60
    for other in range(1, MOST_CALLERS + 1):
        assert limiter.take(other, now=0.0).retry_after is None
    assert limiter.take(0, now=0.0).retry_after is None


@pytest.fixture
def two_a_minute(settings) -> None:
    import dataclasses

    from dashboard.api.middleware import limiter_of

    limiter_of.cache_clear()
    settings.ENVIRONMENT = dataclasses.replace(settings.ENVIRONMENT, api_requests_per_minute=2)


def test_every_response_gives_the_remaining_quota(api: Program, two_a_minute: None):
    first = api.get("/agents")
    assert first["RateLimit-Policy"] == '"default";q=2;w=60'
    assert first["RateLimit"] == '"default";r=1;t=30'
    assert first["X-RateLimit-Remaining"] == "1"
    api.get("/agents")
    refused = api.get("/agents")
    assert refused.status_code == 429
    assert 1 <= int(refused["Retry-After"]) <= 30
    assert "2 requests per minute" in refused.json()["detail"]
    assert said(refused) == {}


def test_without_a_limit_there_is_no_header(api: Program, settings):
    import dataclasses

    settings.ENVIRONMENT = dataclasses.replace(settings.ENVIRONMENT, api_requests_per_minute=0)
    assert not api.get("/agents").has_header("RateLimit")
