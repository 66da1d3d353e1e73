"""kill -9 in the middle of a streamed continuation: nothing that was acknowledged is lost."""

import json
import os
import signal
import time
import urllib.request
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from dashboard.client import Draft, Whystop
from dashboard.platform.postgres.paths import find_cluster_paths
from dashboard.platform.postgres.postmaster import find_postmaster
from dashboard.simulator.texts import ESSAY
from tests.nightly import nightly

from .conftest import PATIENCE, Up

Start = Callable[..., Up]
TOKEN = "a-token-of-24-characters-or-more"
ENDED = ("completed", "partial", "failed", "aborted", "cancelled", "interrupted")


class Api:
    """The API of a running server, by its bootstrap token."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}/api/v1/{path}", data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)


def wait_for(look: Callable[[], bool], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def start(up: Start, *, token_ms: int) -> tuple[Up, Api]:
    server = up(WHYSTOP_BOOTSTRAP_TOKEN=TOKEN, WHYSTOP_SIM_TOKEN_MS=str(token_ms))
    return server, Api(server.address())


def in_the_middle_of_a_continuation(api: Api) -> tuple[str, dict[str, Any]]:
    """A turn whose second call streams, for seconds more, and has said something already."""
    turn = Whystop(api.address, TOKEN).start("sim-essay", "kill me", max_tokens=150)
    drafts = (message for message in turn.watch(seconds=PATIENCE) if isinstance(message, Draft))
    stored = (draft for draft in drafts if draft.attempt == 2)
    assert len(list(islice(stored, 3))) == 3
    return turn.id, api(f"turns/{turn.id}")


def killed(server: Up, data_dir: Path) -> None:
    server.kill()


def killed_with_its_database(server: Up, data_dir: Path) -> None:
    postmaster = find_postmaster(find_cluster_paths(data_dir))
    assert postmaster is not None
    server.kill()
    os.kill(postmaster.pid, signal.SIGKILL)


def stopped(server: Up, data_dir: Path) -> None:
    assert server.stop(signal.SIGTERM)[0] == 0


@pytest.mark.usefixtures("started_before")
@pytest.mark.parametrize("end", [nightly(killed), killed_with_its_database, nightly(stopped)])
def test_a_turn_whose_server_dies_mid_stream_is_resumed_and_verifies(
    up: Start, data_dir: Path, end: Callable[[Up, Path], None]
):
    server, api = start(up, token_ms=30)
    turn_id, before = in_the_middle_of_a_continuation(api)
    end(server, data_dir)

    _, api = start(up, token_ms=0)
    wait_for(lambda: api(f"turns/{turn_id}")["status"] in ENDED)

    turn = api(f"turns/{turn_id}")
    assert turn["status"] == "completed"
    # Wherever it was broken off, nothing is lost; words that may be a repeat are kept, and marked.
    assert turn["output_text"] == ESSAY or "ambiguous_seam" in turn["lint"]
    assert turn["output_text"].endswith(ESSAY[-200:])
    assert ESSAY.startswith(before["output_text"])
    assert api(f"turns/{turn_id}/replay", {"mode": "verify"})["verified"] is True
    events = [record["event"]["type"] for record in api(f"turns/{turn_id}/records")]
    assert events.count("interrupted") == 1
    attempts = api(f"turns/{turn_id}/attempts")
    (interrupted,) = (attempt for attempt in attempts if attempt["error"])
    assert interrupted["error"]["kind"] == "interrupted"
    # On a busy machine the second call may end before the server does: then the next one is interrupted, at any word.
    assert interrupted["text"] or attempts.index(interrupted) > 1
