"""kill -9 while a prompt waits in line: it begins after the one before it, once, and knows what that one said."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Up
from .test_killed import ENDED, killed_with_its_database, start, wait_for


@pytest.mark.nightly
@pytest.mark.usefixtures("started_before")
def test_a_queue_survives_its_server_and_its_database(up: Callable[..., Up], data_dir: Path):
    server, api = start(up, token_ms=30)
    talk = api("conversations", {"agent": "sim-essay"})["id"]
    asked = {"agent": "sim-essay", "conversation": talk}
    sent = [api("turns", {**asked, "input": text})["id"] for text in ("One?", "Two?")]
    wait_for(lambda: len(api(f"turns/{sent[0]}/attempts")) == 2)
    assert api(f"turns/{sent[1]}")["status"] == "queued"
    killed_with_its_database(server, data_dir)

    _, api = start(up, token_ms=0)
    wait_for(lambda: all(api(f"turns/{turn}")["status"] in ENDED for turn in sent))
    first, second = (api(f"turns/{turn}") for turn in sent)
    assert (first["status"], second["status"]) == ("completed", "completed")
    assert second["started_at"] > first["finished_at"]
    events = [record["event"] for record in api(f"turns/{sent[1]}/records")]
    assert [event["type"] for event in events].count("started") == 1
    assert [message["text"] for message in events[0]["messages"]] == ["One?", first["output_text"], "Two?"]
    assert api(f"turns/{sent[1]}/replay", {"mode": "verify"})["verified"] is True
