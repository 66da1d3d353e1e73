"""Turns survive the kill of whatever runs them: real processes, a real database, signals that nobody can catch."""

import re
import subprocess
import sys
from pathlib import Path

from dashboard.bench.chaos.fleet import OURS
from dashboard.runtime.environment import CHECKOUT

BLOWS = ("killed", "all killed", "stopped", "asleep", "database fast", "database immediate")


def test_nothing_is_lost_or_done_twice_whatever_is_killed(tmp_path: Path):
    import os

    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    command = [sys.executable, "manage.py", "bench", "chaos", "--points", "60", "--seconds", "25", "--seed", "7"]
    environment = {**kept, "WHYSTOP_DATA_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 violations" in done.stdout
    assert int(re.search(r"^(\d+) points", done.stdout, re.MULTILINE)[1]) >= 60
    assert not any(tmp_path.iterdir()), "the user's data folder is not touched"
