"""What a process knows at once of keys that the supervisor counts."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from dashboard.gateway.access.limits import KeyLimits
from dashboard.gateway.access.refusals import Refusal, too_fast
from dashboard.runtime.processes import process_main
from dashboard.runtime.processes.process_main import CountedElsewhere

LIMITS = KeyLimits(requests_per_minute=1)
REFUSED = too_fast(what="requests", limit=1, retry_after=30)


class Supervisor:
    """A link that answers with what it is given."""

    def __init__(self, *answers: Refusal | None) -> None:
        self.answers = list(answers)

    async def may_call(self, *_: object) -> Refusal | None:
        return self.answers.pop(0)


@pytest.fixture(autouse=True)
def clock(monkeypatch) -> list[float]:
    """The time, which stands still."""
    now = [100.0]
    monkeypatch.setattr(process_main, "_now", lambda: now[0])
    return now


def counter_after(*answers: Refusal | None, key):
    counter = CountedElsewhere(Supervisor(*answers))  # type: ignore[arg-type]
    for _ in answers:
        asyncio.run(counter.admit(key, LIMITS))
    return counter


def test_a_refusal_is_remembered_for_its_key_and_limits():
    key = uuid4()
    counter = counter_after(REFUSED, key=key)
    assert counter.refusal(key, LIMITS) is REFUSED
    assert counter.refusal(uuid4(), LIMITS) is None
    assert counter.refusal(key, replace(LIMITS, requests_per_minute=2)) is None


def test_a_refusal_is_forgotten_with_the_next_accepted_call():
    key = uuid4()
    assert counter_after(REFUSED, None, key=key).refusal(key, LIMITS) is None


def test_a_refusal_is_forgotten_after_a_second(clock):
    key = uuid4()
    counter = counter_after(REFUSED, key=key)
    clock[0] += 1.1
    assert counter.refusal(key, LIMITS) is None
