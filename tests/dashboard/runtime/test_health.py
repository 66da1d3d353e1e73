"""However many ask for the health of the server, its database is asked once a second."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

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
async def test_all_requests_within_a_second_get_the_same_answer(asked: Callable[[bool], list[float]], up: bool):
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


async def test_a_leaving_client_does_not_affect_the_answer_of_others(asked: Callable[[bool], list[float]]):
    times, pulse = asked(True), Pulse()
    first, second = asyncio.create_task(pulse.is_up()), asyncio.create_task(pulse.is_up())
    await asyncio.sleep(0)
    first.cancel()
    assert await second
    assert len(times) == 1


def test_another_event_loop_runs_its_own_check(asked: Callable[[bool], list[float]]):
    asked(True)
    pulse = Pulse()
    assert asyncio.run(pulse.is_up())
    assert asyncio.run(pulse.is_up())


@pytest.mark.parametrize(("up", "status", "word"), [(True, 200, "ok"), (False, 503, "unavailable")])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_probe_is_answered_before_django(
    asked: Callable[[bool], list[float]], monkeypatch: pytest.MonkeyPatch, up: bool, status: int, word: str, method: str
):
    asked(up)
    monkeypatch.setattr(health, "pulse", Pulse())
    head, body = await answered("/healthz", method)
    assert head["status"] == status
    assert (b"cache-control", b"private, no-store") in head["headers"]
    assert body["body"] == b"" if method == "HEAD" else json.loads(body["body"])["status"] == word


@pytest.mark.parametrize(("path", "method"), [("/healthz", "POST"), ("/healthz/", "GET"), ("/", "GET")])
async def test_other_requests_reach_the_application(path: str, method: str):
    assert await answered(path, method) == ["on"]


async def answered(path: str, method: str) -> list[Any]:
    """What the application in front of another sends; `on` where it was the other's turn."""
    sent: list[Any] = []

    async def another(scope: Any, receive: Any, send: Any) -> None:
        sent.append("on")

    async def send(message: Any) -> None:
        sent.append(message)

    await health.Health(another)({"type": "http", "path": path, "method": method}, send, send)
    return sent
