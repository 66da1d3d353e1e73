"""Servers to be visited in tests, and the processes they run in."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from dashboard.agents.selectors import project_default
from dashboard.tools.models import McpServer
from dashboard.tools.services import mcp_server_create


def at(url: str, **more: Any) -> McpServer:
    return mcp_server_create(project=project_default(), name="rogue", url=url, **{"timeout": 5.0, **more})


def command(*args: str, **more: Any) -> McpServer:
    more = {"timeout": 5.0, "command": sys.executable, **more}
    return mcp_server_create(project=project_default(), name="rogue", transport="stdio", args=list(args), **more)


def pid_in(file: Path) -> int:
    """The process that wrote its id there, once it has."""
    deadline = time.monotonic() + 60
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(file.read_text())


def gone(pid: int) -> bool:
    """Whether the process ends soon."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
