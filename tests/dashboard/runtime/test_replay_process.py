"""What a process that answers a replay says, and leaves in the log, where it cannot answer."""

import json
import os
import socket
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings

from dashboard.runtime.replay_process import _TEMPLATES

TOLD: dict[str, Any] = {"type": "http", "method": "GET", "path": "/compare/", "query_string": "", "headers": []}
FAILS = """
import socket, sys
import django
from types import SimpleNamespace
from django.core.handlers.exception import convert_exception_to_response
from dashboard.runtime.replay_process import _serve

django.setup()

def view(request):
    raise {error}

_serve(SimpleNamespace(get_response=convert_exception_to_response(view)), socket.socket(fileno=int(sys.argv[1])))
"""


def served(program: str, sent: bytes) -> tuple[bytes, str]:
    """What such a process wrote to its connection, and to the log."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(sent)
        process = subprocess.run(
            [sys.executable, "-c", program, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "dashboard.settings"},
            stderr=subprocess.PIPE,
            text=True,
            timeout=90,
        )
        theirs.close()
        return ours.makefile("rb").read(), process.stderr


def test_a_lack_of_memory_is_reported():
    asked = json.dumps({**TOLD, "length": 0, "quota": None}).encode() + b"\n"
    assert served(FAILS.format(error="MemoryError"), asked) == (b'{"too_much": true}\n', "")


def test_a_failure_is_logged():
    said, log = served(FAILS.format(error="MemoryError"), b"no json\n")
    assert (said, "Traceback" in log, "JSONDecodeError" in log) == (b"", True, True)


@pytest.mark.parametrize("hard", [10, 63])
def test_a_lower_limit_given_to_a_process_is_kept(hard: int):
    program = (
        "import resource; from dashboard.platform.process_limits import limit_process; "
        f"resource.setrlimit(resource.RLIMIT_CPU, ({hard}, {hard})); limit_process(memory=2**30, seconds=60); "
        "print(resource.getrlimit(resource.RLIMIT_CPU))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90)
    assert told.stdout == f"({min(hard, 60)}, {hard})\n"


def test_the_templates_of_the_map_are_compiled_in_advance():
    compiled = {file.name for pattern in _TEMPLATES for file in (settings.BASE_DIR / "templates").glob(pattern)}
    assert {"map.html", "_map.html", "cell.html"} <= compiled
