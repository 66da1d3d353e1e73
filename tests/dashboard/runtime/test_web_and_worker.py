"""`manage.py web` and `manage.py worker`: each a process of its own, over one database."""

import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.platform.postgres.paths import find_cluster_paths
from dashboard.platform.postgres.postmaster import find_postmaster

from .conftest import Up
from .test_killed import ENDED, TOKEN, Api, wait_for

Start = Callable[..., Up]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@pytest.mark.nightly
def test_a_web_process_runs_no_turn_and_a_worker_runs_the_waiting_ones(
    up: Start, started_before: None, data_dir: Path, simulator_url: str
):
    web = up("web", WHYSTOP_BOOTSTRAP_TOKEN=TOKEN)
    api = Api(web.address())
    api("connections", {"name": "practice", "provider": "openai", "base_url": simulator_url})
    api("agents", {"name": "essay", "connection": "practice", "model": "sim-essay", "max_tokens": 400})
    turn = api("turns", {"agent": "essay", "input": "Who is there?"})["id"]
    port = free_port()
    worker = up("worker", "--metrics-port", str(port), WHYSTOP_EGRESS="loopback")
    assert "runs turns" in worker.line()
    wait_for(lambda: api(f"turns/{turn}")["status"] in ENDED)
    assert api(f"turns/{turn}")["status"] == "completed"
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as counted:
        assert 'whystop_turns_ended_total{model="sim-essay"' in counted.read().decode()
    assert worker.stop() == (0, "", "")
    waiting = api("turns", {"agent": "essay", "input": "And now?"})["id"]
    assert api(f"turns/{waiting}")["status"] == "queued"
    strict = up("worker")  # nobody said that it may call this machine
    assert "runs turns" in strict.line()
    wait_for(lambda: api(f"turns/{waiting}")["status"] in ENDED)
    assert "WHYSTOP_EGRESS does not allow" in api(f"turns/{waiting}")["verdict"]
    assert strict.stop()[0] == 0
    assert web.stop() == (0, "", "")
    assert find_postmaster(find_cluster_paths(data_dir)) is None
