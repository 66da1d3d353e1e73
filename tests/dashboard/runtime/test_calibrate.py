"""`manage.py calibrate` as a person meets it: killed in the middle of a turn, and started again by the same words."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests import forked_start

from .conftest import CHECKOUT, PATIENCE

WORDS = ("calibrate", "--max-continuations", "0,1,2", "--max-tokens", "60,80", "--yes", "--json")
ALL = "from dashboard.turns.models import Turn as T; print(T.objects.count(), T.objects.exclude(parent=None).count())"


@pytest.fixture
def environment(environment: dict[str, str], started_before: None) -> dict[str, str]:
    # Of this process alone, and none that the system gives to others.
    port = 20_000 + (os.getpid() + 5_000) % 10_000
    return {**environment, "WHYSTOP_SIMULATOR_PORT": str(port), "WHYSTOP_SIM_TOKEN_MS": "0"}


def run(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return forked_start.run(words, env=environment, timeout=PATIENCE, **forked_start.BOTH)


@pytest.mark.nightly
def test_a_killed_calibration_continues_where_it_was_without_repeats(environment: dict[str, str]):
    assert run(environment, "ask", "Why do agents stop?", "--max-tokens", "150").returncode == 0
    slow = {**environment, "WHYSTOP_SIM_TOKEN_MS": "15"}
    command = [sys.executable, "manage.py", *WORDS]
    with subprocess.Popen(
        command, cwd=CHECKOUT, env=slow, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[2/6]"):
                break
        os.killpg(process.pid, signal.SIGKILL)
    again = run(environment, *WORDS)
    assert again.returncode == 0, again.stderr
    assert "Continues an earlier run: " in again.stderr
    assert "6 of 6 re-runs were started" not in again.stderr
    found = json.loads(again.stdout)
    assert (found["finished"], found["trials"], found["begun"], found["failed"]) == (True, 6, 6, [])
    counts = found["by_certainty"].values()
    assert sum(count["predictions"] for count in counts) == 6
    assert sum(count["came_true"] + count["apart"] + count["nothing"] for count in counts) == 6
    assert sum(count["apart"] for count in counts) <= 1, "the one whose call was given again"
    assert run(environment, "shell", "--no-imports", "-c", ALL).stdout.split() == ["7", "6"]
