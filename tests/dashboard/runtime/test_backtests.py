"""A backtest under `manage.py up`: its worker judges in processes of its own, and leaves none behind."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from dashboard.platform.postgres.processes import wait_until

from .conftest import PATIENCE, Up

TOKEN = "a-token-of-24-characters-or-more"


@pytest.fixture
def api(up: Callable[..., Up], started_before: None) -> Callable[..., Any]:
    running = up(WHYSTOP_BOOTSTRAP_TOKEN=TOKEN)
    address = running.address()

    def call(path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{address}/api/v1{path}", sent, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    call.running = running
    return call


@pytest.mark.nightly
def test_a_queued_backtest_is_judged_and_up_ends_cleanly(api: Callable[..., Any]):
    turn = api("/turns", {"agent": "sim-essay", "input": "Why?"})
    assert wait_until(lambda: api(f"/turns/{turn['id']}")["finished_at"] is not None, seconds=PATIENCE)
    made = api("/backtests", {"policy": {"limits": {"max_continuations": 0}}, "filter": {"agent": "sim-essay"}})
    assert wait_until(lambda: api(f"/backtests/{made['id']}")["status"] == "done", seconds=PATIENCE)
    told = api(f"/backtests/{made['id']}")
    assert (told["total"], told["flipped"], told["flipped_turns"]) == (1, 1, [turn["id"]])
    assert told["flips"][0]["how"] == "sooner"
    assert api.running.stop() == (0, "", "")
