"""Two processes behind one port are as one: limits, keys, pages and counters hold across them, and one that dies is no
more than that."""

import asyncio
import json
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.dashboard.runtime.conftest import PATIENCE, get
from tests.dashboard.runtime.test_killed import wait_for

from .conftest import TOKEN, Caller, Server, asked
from .seen import children_of, runs

Pair = tuple[Caller, Caller]
KeyOf = Callable[..., dict[str, Any]]
STREAMS = 12
ENDED = ("partial", "completed", "interrupted")


def test_one_line_gives_the_url_and_both_processes_are_healthy(server: Server, pair: Pair):
    assert re.fullmatch(r"Whystop is at http://127\.0\.0\.1:\d+/ - sign in, once: \S+", server.line)
    assert [caller.ask("GET", "/healthz")[1]["status"] for caller in pair] == ["ok", "ok"]
    assert len(server.processes("worker")) == 1


def test_connections_go_to_the_process_with_the_fewest(server: Server):
    callers = [Caller(server.port) for _ in range(16)]
    for caller in callers:
        assert caller.ask("GET", "/healthz")[0] == 200
    assert set(Counter(server.process_of(caller) for caller in callers).values()) == {8}
    for caller in callers:
        caller.close()


def test_a_limit_of_calls_per_minute_is_exact_across_processes(pair: Pair, key_of: KeyOf):
    secret = key_of(requests_per_minute=5)["secret"]
    assert [caller.call(secret)[0] for caller in pair] == [200, 200]
    with ThreadPoolExecutor(2) as threads:
        told = threads.map(lambda caller: [caller.call(secret)[0] for _ in range(6)], pair)
        assert Counter(status for statuses in told for status in statuses) == {200: 3, 429: 9}


def test_a_budget_exhausted_at_one_process_is_exhausted_at_the_other_at_once(pair: Pair, key_of: KeyOf):
    secret = key_of(tokens_in_total=3)["secret"]
    first, second = pair
    assert first.call(secret)[0] == 200
    status, answer = second.call(secret)
    assert (status, answer["error"]["code"]) == (429, "insufficient_quota")


def test_a_revoked_key_is_refused_by_both_processes(pair: Pair, key_of: KeyOf):
    key = key_of()
    assert [caller.call(key["secret"])[0] for caller in pair] == [200, 200]
    assert pair[0].ask("POST", f"/api/v1/keys/{key['id']}/revoke")[0] == 200
    wait_for(lambda: [caller.ask("GET", "/v1/models", token=key["secret"])[0] for caller in pair] == [401, 401])


def test_a_turn_started_at_one_process_is_seen_by_the_pages_of_both(server: Server):
    address = f"127.0.0.1:{server.port}"
    told = asyncio.run(messages_about_a_turn(address))
    assert len(told) == 2


async def messages_about_a_turn(address: str) -> list[str]:
    """What two pages of the timeline were pushed last of it."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session, asyncio.timeout(PATIENCE):
        pages = [await session.ws_connect(f"ws://{address}/ws/timeline/") for _ in range(2)]
        limits = {"max_continuations": 0}
        body = {"agent": "sim-essay", "input": "Say it.", "overrides": {"max_tokens": 9, "limits": limits}}
        async with session.post(f"http://{address}/api/v1/turns", json=body) as answer:
            turn = (await answer.json())["id"]
        return await asyncio.gather(*(shown_at_last(page, turn) for page in pages))


async def shown_at_last(page: aiohttp.ClientWebSocketResponse, turn: str) -> str:
    shown = ""
    while "partial" not in shown:
        pushed = await page.receive_str()
        shown = pushed if turn in pushed else shown
    await page.close()
    return shown


def test_a_turn_can_be_cancelled_at_either_process(pair: Pair):
    here, there = pair
    _, turn = here.ask("POST", "/api/v1/turns", {"agent": "sim-endless", "input": "Go on."})
    wait_for(lambda: here.ask("GET", f"/api/v1/turns/{turn['id']}")[1]["status"] == "running")
    assert there.ask("POST", f"/api/v1/turns/{turn['id']}/cancel")[0] == 202
    wait_for(lambda: here.ask("GET", f"/api/v1/turns/{turn['id']}")[1]["status"] == "cancelled")


LONG = 600  #: tokens, which take some seconds


class Stream:
    """One streamed call, and all that was heard of it."""

    def __init__(self, server: Server, secret: str, begun: threading.Barrier, turns: list[str]) -> None:
        self.caller = Caller(server.port)
        endless = asked(stream=True, max_tokens=LONG, model="sim-endless")
        answer = self.caller.send("POST", "/v1/chat/completions", endless, token=secret)
        self.process = server.process_of(self.caller)
        self.turn = answer.headers["x-whystop-turn"]
        self.text, self.whole = "", False
        turns.append(self.turn)
        begun.wait(PATIENCE)
        try:
            for line in answer:
                self._heard(line)
        except OSError:
            pass
        self.caller.close()

    def _heard(self, line: bytes) -> None:
        if line.startswith(b"data: {"):
            self.text += "".join(part["delta"].get("content") or "" for part in json.loads(line[6:])["choices"])
        self.whole = self.whole or line.startswith(b"data: [DONE]")


def calls_counted(caller: Caller) -> float:
    text = caller.send("GET", "/metrics").read().decode()
    return sum(float(value) for value in re.findall(r"^whystop_gateway_calls_total\{.*\} (\S+)$", text, re.MULTILINE))


def test_prometheus_can_read_the_metrics_of_either_process_and_none_is_empty(pair: Pair, key_of: KeyOf):
    assert pair[0].call(key_of()["secret"])[0] == 200
    for caller in pair:
        answer = caller.send("GET", "/metrics")
        assert answer.getheader("content-type", "").startswith("text/plain; version=")
        families = {family.name: family.samples for family in text_string_to_metric_families(answer.read().decode())}
        assert families["whystop_gateway_calls"]
        assert all(families.values())


@pytest.mark.nightly
def test_a_killed_process_ends_only_its_own_calls(server: Server, pair: Pair, key_of: KeyOf):
    secret = key_of()["secret"]
    assert [caller.call(secret)[0] for caller in pair] == [200, 200]
    counted = calls_counted(pair[0])
    assert calls_counted(pair[1]) == counted
    victim = server.process_of(pair[0])
    begun, turns = threading.Barrier(STREAMS + 1), list[str]()
    with ThreadPoolExecutor(STREAMS) as threads:
        calling = [threads.submit(Stream, server, secret, begun, turns) for _ in range(STREAMS)]
        begun.wait(PATIENCE)
        # A call that has been open for less than 200 ms is stored nowhere yet, and would be lost with its process.
        for turn in turns:
            wait_for(lambda turn=turn: turn_of(server, turn)["status"] == "running")
        os.kill(victim, signal.SIGKILL)
        streams = [call.result(PATIENCE) for call in calling]
    assert {stream.whole for stream in streams if stream.process == victim} == {False}
    assert {stream.whole for stream in streams if stream.process != victim} == {True}
    driven = killed_in_the_middle(server)
    for stream in streams:
        wait_for(lambda stream=stream: turn_of(server, stream.turn)["status"] in ENDED)
        turn = turn_of(server, stream.turn)
        assert turn["output_text"] == stream.text if stream.whole else turn["status"] == "interrupted"
        verified = server.ask("POST", f"/api/v1/turns/{stream.turn}/replay", {"mode": "verify"})
        assert verified["verified"], verified
    wait_for(lambda: turn_of(server, driven)["status"] == "completed")
    whole, fresh = sum(stream.whole for stream in streams), server.one_each()
    assert {calls_counted(caller) for caller in fresh} == {counted + whole}, "none is lost with the process"
    for caller in fresh:
        caller.close()


def killed_in_the_middle(server: Server) -> str:
    """A turn whose worker is gone."""
    turn = server.ask("POST", "/api/v1/turns", {"agent": "sim-essay", "input": "Go."})["id"]
    wait_for(lambda: turn_of(server, turn)["status"] == "running")
    os.kill(server.processes("worker")[0], signal.SIGKILL)
    return turn


def turn_of(server: Server, turn: str) -> dict[str, Any]:
    return server.ask("GET", f"/api/v1/turns/{turn}")


@pytest.mark.nightly
def test_a_killed_supervisor_leaves_no_process_behind_and_the_next_one_starts(running: Callable[[], Server]):
    killed = running()
    wait_for(lambda: len(killed.processes("web") + killed.processes("worker")) == 3)
    left = children_of(killed.up.process.pid)  # the server of the database is one of them
    assert len(left) == 4
    killed.up.kill()
    wait_for(lambda: not any(map(runs, left)))
    again = running()
    assert json.loads(get(f"http://127.0.0.1:{again.port}/healthz")[1]) == {"status": "ok", "database": "up"}
