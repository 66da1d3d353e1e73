"""Turns survive the kill of whatever runs them: real processes, a real database, signals that nobody can catch."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.bench.chaos.fleet import OURS
from dashboard.platform.environment import CHECKOUT

BLOWS = ("killed", "all killed", "stopped", "asleep", "database fast", "database immediate")
POINTS = 40


@pytest.mark.nightly
def test_nothing_is_lost_or_done_twice_when_any_process_is_killed(tmp_path: Path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    command = [
        sys.executable,
        "manage.py",
        "bench",
        "chaos",
        "--points",
        str(POINTS),
        "--seconds",
        "300",
        "--seed",
        "7",
    ]
    environment = {**kept, "WHYSTOP_DATA_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 violations" in done.stdout
    assert "SIGKILL fell on worker and server in every waiting state" in done.stdout
    assert int(re.search(r"^(\d+) points", done.stdout, re.MULTILINE)[1]) >= POINTS
    assert all(re.search(rf"^{blow}, \d+ times", done.stdout, re.MULTILINE) for blow in BLOWS)
    assert not (tmp_path / "postgres").exists(), "the user's own database is not even started"
