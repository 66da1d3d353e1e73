"""A process of the benchmark: started by `run`, it says where it listens, and how busy it was whenever it is asked."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from aiohttp import web
from aiohttp.typedefs import Handler

LARGEST_BODY = 2**26  #: bytes of a request


@dataclass(frozen=True, slots=True)
class Part:
    """A part that runs, as `run` sees it."""

    process: "subprocess.Popen[str]"
    port: int

    def busy(self) -> float:
        """Seconds of processor time so far."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("busy\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


@contextmanager
def part(name: str, *given: str, environment: Mapping[str, str] | None = None, of: str = "gateway") -> Iterator[Part]:
    """Start `dashboard.bench.OF.NAME`, until the block ends."""
    command = [sys.executable, "-m", f"dashboard.bench.{of}.{name}", *given]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:  # noqa: S603 - ours
        try:
            assert process.stdout is not None
            yield Part(process, int(process.stdout.readline()))
        finally:
            process.terminate()


def run(serving: Coroutine[Any, Any, None]) -> None:
    """For the process itself: on the loop that the dashboard runs on. It ends by a signal."""
    with asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()) as runner:
        runner.run(serving)


async def serve_posts(answer: Handler) -> None:
    """Answer a POST to any path, on a free port, until the process ends."""
    application = web.Application(client_max_size=LARGEST_BODY)
    application.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=512)
    await site.start()
    say_port(runner.addresses[0][1])
    await asyncio.Event().wait()


def say_port(port: int, busy: Callable[[], float] = time.process_time) -> None:
    """Where this part listens; from here on it says how busy it was, in seconds, for each line it reads."""
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    threading.Thread(target=_answer, args=[busy], daemon=True).start()


def _answer(busy: Callable[[], float]) -> None:
    for _ in sys.stdin:
        sys.stdout.write(f"{busy()}\n")
        sys.stdout.flush()
