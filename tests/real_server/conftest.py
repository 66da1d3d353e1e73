"""A real llama.cpp server with a tiny model, for `.ci/real_server/run.py`; without it nothing here is collected."""

import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dashboard.agents import selectors
from dashboard.agents.models import Connection
from dashboard.agents.services import connection_create

PYTHON = os.environ.get("WHYSTOP_REAL_SERVER", "")
if not PYTHON:
    collect_ignore_glob = ["test_*.py"]

Dialed = Callable[..., Connection]


@pytest.fixture(scope="session")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    subprocess.run([PYTHON, os.environ["WHYSTOP_TINY_MODEL"], path], check=True)
    return path


@contextmanager
def served(model: Path) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """The base address of a server of its own, and its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [PYTHON, "-m", "llama_cpp.server", "--model", model, "--n_ctx", "4096", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await(f"http://127.0.0.1:{port}/v1/models", process)
        yield f"http://127.0.0.1:{port}/v1", process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)


def _await(address: str, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.1)
        else:
            return


@pytest.fixture(scope="session")
def real_server(model_file: Path) -> Iterator[str]:
    with served(model_file) as (address, _):
        yield address


@pytest.fixture
def dialed(real_server: str) -> Dialed:
    """A connection to the server."""

    def make(provider: str = "openai", address: str = "") -> Connection:
        return connection_create(
            project=selectors.project_default(), name=provider, provider=provider, base_url=address or real_server
        )

    return make
