"""A PostgreSQL that is really stopped: who waits is told soon, and what was said is stored when it is back."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from aiohttp import web
from django.db import connection, connections
from pytest_django import DjangoDbBlocker

from agentcore import verify
from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, one_time_code_create
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.bench.chaos.scratch import STOPS, Scratch, scratch
from dashboard.gateway import app
from dashboard.gateway.app import Gateway
from dashboard.gateway.recording import pending_turn, turn_queue
from dashboard.gateway.recording.pending_turn import NotStoredError
from dashboard.gateway.recording.recorder import Recorder
from dashboard.gateway.services import key_create
from dashboard.platform.postgres.postmaster import find_postmaster
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.gateway.told_turns import Story, cut, ended, tell
from tests.dashboard.serving import provider_of

T = TypeVar("T")


@pytest.fixture(scope="module")
def store(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, started_once: Callable[[Path], None]
) -> Iterator[Scratch]:
    """A cluster of this module's own, for it is stopped."""
    with django_db_blocker.unblock(), scratch(begin=started_once) as store:
        yield store


def stop(store: Scratch) -> None:
    found = find_postmaster(store.share.home)
    assert found is not None
    os.kill(found.pid, STOPS["immediate"])
    while find_postmaster(store.share.home) is not None:
        time.sleep(0.02)


def back(store: Scratch) -> None:
    store.share.repair(lambda _: None)


async def there(recorder: Recorder) -> None:
    async with asyncio.timeout(120):
        while recorder.away:
            await asyncio.sleep(0.05)


def run(telling: Coroutine[Any, Any, T]) -> T:
    """What it comes to; our own connection broke meanwhile."""
    try:
        return asyncio.run(telling)
    finally:
        connections.close_all()


def stories(count: int) -> list[Story]:
    return [Story([cut(f"a {n} "), ended(f"b {n}")]) for n in range(count)]


def test_waiting_callers_are_told_and_everything_is_stored_once_the_database_is_back(store):
    project_id, said = project_default().pk, stories(12)

    async def told() -> float:
        recorder = Recorder()
        await tell(recorder, said[0], said[0].new_turn(project_id))
        await asyncio.to_thread(stop, store)
        began = time.monotonic()
        results = await asyncio.gather(
            *(tell(recorder, each, each.new_turn(project_id)) for each in said[1:]), return_exceptions=True
        )
        waited = time.monotonic() - began
        assert all(isinstance(result, NotStoredError) for result in results)
        assert recorder.away
        await asyncio.to_thread(back, store)
        await there(recorder)
        await recorder.close()
        return waited

    assert run(told()) < pending_turn.PATIENCE_SECONDS + 8  # and not the ten of who asks for a connection
    turns = [each.turn() for each in said]
    assert [turn.status for turn in turns] == ["completed"] * 12
    assert all(verify(recording_of(turn)).verified for turn in turns)


def locked() -> psycopg.Connection[Any]:
    """A connection for which everybody who writes a turn waits, until it is closed."""
    given = connection.get_connection_params()
    held = psycopg.connect(
        **{name: given[name] for name in ("dbname", "user", "password", "host", "port") if name in given}
    )
    held.execute("LOCK TABLE turns_turn IN ACCESS EXCLUSIVE MODE")
    return held


def test_an_unresponsive_database_counts_as_unavailable_until_it_stores_again(store):
    project_id, said = project_default().pk, stories(2)

    async def told() -> None:
        recorder = Recorder()
        await tell(recorder, said[0], said[0].new_turn(project_id))
        held = await asyncio.to_thread(locked)
        try:
            with pytest.raises(NotStoredError):
                await tell(recorder, said[1], said[1].new_turn(project_id))
            assert recorder.away  # so that nobody is asked upstream for what would not be given out
        finally:
            await asyncio.to_thread(held.close)
        await there(recorder)
        await recorder.close()

    run(told())
    assert [each.turn().status for each in said] == ["completed"] * 2


def test_an_interruption_loses_nothing_confirmed_and_stores_nothing_twice(store):
    project_id, said = project_default().pk, stories(120)

    async def told() -> list[object]:
        recorder = Recorder()
        tellings = [tell(recorder, each, each.new_turn(project_id), one_by_one=True) for each in said]
        calls = asyncio.gather(*tellings, return_exceptions=True)
        await asyncio.sleep(0.02)
        await asyncio.to_thread(stop, store)
        await asyncio.to_thread(back, store)
        results = await calls
        # Who was told that a step is not stored has said nothing more; what was said of those is stored too.
        await there(recorder)
        await recorder.close(seconds=20)
        return results

    results = run(told())
    for each, result in zip(said, results, strict=True):
        turn = each.turn()
        assert verify(recording_of(turn)).verified
        if result is None:
            assert turn.output_text.endswith(each.answers[-1].text)


def test_the_buffer_for_an_unavailable_database_is_bounded(store, monkeypatch):
    monkeypatch.setattr(turn_queue, "MOST_BYTES", 60_000)
    project_id, said = project_default().pk, stories(30)

    async def told() -> tuple[list[object], int]:
        recorder = Recorder()
        await asyncio.to_thread(stop, store)
        results = await asyncio.gather(
            *(tell(recorder, each, each.new_turn(project_id)) for each in said), return_exceptions=True
        )
        size = recorder._queue.bytes
        await asyncio.to_thread(back, store)
        await there(recorder)
        assert recorder._queue.bytes == 0
        late = Story([ended("late")])
        await tell(recorder, late, late.new_turn(project_id))
        await recorder.close()
        return results, size

    results, size = run(told())
    assert all(isinstance(result, NotStoredError) for result in results)
    assert any("Too many calls are waiting" in str(result) for result in results)
    assert size < 2 * 60_000
    assert 0 < Turn.objects.filter(id__in=[each.id for each in said]).count() < 30


async def say(_: web.Request) -> web.Response:
    message = {"role": "assistant", "content": "Yes."}
    return web.json_response({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


async def asked(
    gateway: Gateway, secret: str, model: str = "stopped/m", *, stream: bool = False
) -> tuple[int, dict[bytes, bytes], bytes]:
    """One call, as a server would hand it on."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "?"}], "stream": stream}).encode()
    came, said = [{"type": "http.request", "body": body}], []

    async def receive() -> dict[str, object]:
        return came.pop() if came else await asyncio.Event().wait()

    async def send(message) -> None:
        said.append(message)

    headers = [(b"authorization", f"Bearer {secret}".encode()), (b"content-length", b"%d" % len(body))]
    path = "/v1/chat/completions"
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    await gateway(scope, receive, send)
    return said[0]["status"], dict(said[0]["headers"]), b"".join(message["body"] for message in said[1:])


async def nothing_is_recorded(refusing: Gateway, passing: Gateway, secret: str) -> None:
    """What callers get meanwhile."""
    for _ in range(2):  # the first one finds out, the second knows
        status, _, body = await asked(refusing, secret)
        assert (status, json.loads(body)["error"]["code"]) == (503, "not_recorded")
    # A connection with a limit: nobody can say whether it has room.
    assert (await asked(Gateway(None), secret, "narrow/m"))[0] == 503
    assert (await asked(passing, secret, "narrow/m"))[0] == 200
    status, headers, body = await asked(passing, secret)
    assert (status, headers[b"x-whystop-recorded"]) == (200, b"no")
    assert json.loads(body)["choices"][0]["message"]["content"] == "Yes."
    status, headers, body = await asked(passing, secret, stream=True)
    assert (status, headers[b"x-whystop-recorded"]) == (200, b"no")
    assert b" recorded=no " in body


def test_the_policy_decides_what_callers_get_while_nothing_can_be_recorded(store, monkeypatch):
    one_time_code_create()
    project, by = project_default(), User.objects.get(username=OPERATOR)
    secret = key_create(project=project, by=by, name="stopped")[1]

    async def told() -> None:
        refusing, passing = Gateway(None), Gateway(None, passes_unstored=True)
        assert (await asked(refusing, secret))[0] == 200
        assert (await asked(passing, secret, "narrow/m"))[0] == 200
        await asyncio.to_thread(stop, store)
        with monkeypatch.context() as patch:  # nobody answers, so nobody need be waited for long
            patch.setattr(connections["default"].pool, "timeout", 0.3)
            patch.setattr(pending_turn, "PATIENCE_SECONDS", 0.3)
            await nothing_is_recorded(refusing, passing, secret)
        await asyncio.to_thread(back, store)
        async with asyncio.timeout(120):
            while (await asked(refusing, secret))[0] != 200:
                await asyncio.sleep(0.1)
        await app.close()

    with provider_of(say) as address:
        about = {"project": project, "provider": "openai", "base_url": f"{address}/v1"}
        connection_create(name="stopped", **about)
        connection_create(name="narrow", max_concurrent_calls=1, **about)
        run(told())
