"""What others on the machine may do with the files that a command makes, whatever umask it was started with."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.platform.environment import CHECKOUT

MAKING = "from pathlib import Path; Path('made').write_text(''); Path('folder').mkdir()"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_written_by_a_command_are_writable_only_by_the_owner(umask: int, tmp_path: Path) -> None:
    """Static files among it, which run in every browser, and the list of keys whose signatures count."""
    variables = {**os.environ, "WHYSTOP_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, str(CHECKOUT / "manage.py"), "shell", "--no-imports", "-c", MAKING]
    subprocess.run(command, cwd=tmp_path, env=variables, umask=umask, check=True, timeout=120)
    for made in ("made", "folder"):
        mode = (tmp_path / made).stat().st_mode
        assert not mode & (stat.S_IWGRP | stat.S_IWOTH)
        assert stat.S_IMODE(mode) & umask == 0
