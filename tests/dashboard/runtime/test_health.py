"""However many ask for the health of the server, its database is asked once a second."""

import asyncio
from collections.abc import Callable

import pytest

from dashboard.runtime import health
from dashboard.runtime.health import KEPT_SECONDS, Pulse


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[float]]:
    """How often the database was asked, which answers as told."""

    def answering(up: bool) -> list[float]:
        times: list[float] = []

        async def answer() -> bool:
            times.append(asyncio.get_running_loop().time())
            await asyncio.sleep(0.05)
            return up

        monkeypatch.setattr(health, "_database_answers", answer)
        return times

    return answering


@pytest.mark.parametrize("up", [True, False])
async def test_all_who_ask_within_a_second_are_told_the_same(asked: Callable[[bool], list[float]], up: bool):
    times, pulse = asked(up), Pulse()
    at_once = await asyncio.gather(*(pulse.is_up() for _ in range(1_000)))
    later = [await pulse.is_up() for _ in range(100)]
    assert (set(at_once), set(later)) == ({up}, {up})
    assert len(times) == 1


async def test_after_a_second_it_is_asked_again(asked: Callable[[bool], list[float]], monkeypatch: pytest.MonkeyPatch):
    times, pulse = asked(True), Pulse()
    assert await pulse.is_up()
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    asked(False)
    assert not await pulse.is_up()
    assert KEPT_SECONDS == 1.0
    assert len(times) == 1


async def test_one_that_leaves_takes_the_answer_from_nobody(asked: Callable[[bool], list[float]]):
    times, pulse = asked(True), Pulse()
    first, second = asyncio.create_task(pulse.is_up()), asyncio.create_task(pulse.is_up())
    await asyncio.sleep(0)
    first.cancel()
    assert await second
    assert len(times) == 1


def test_another_loop_asks_for_itself(asked: Callable[[bool], list[float]]):
    asked(True)
    pulse = Pulse()
    assert asyncio.run(pulse.is_up())
    assert asyncio.run(pulse.is_up())
