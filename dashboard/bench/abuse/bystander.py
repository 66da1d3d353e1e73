"""`python -m dashboard.bench.abuse.bystander PORT TOKEN MODEL`: another key, which makes so many calls a second.

Its calls begin by the clock, whether those before are answered or not, and are timed from when they had to begin. Says
that it is ready, ends with its input, and prints one JSON object: see `Heard`.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import aiohttp

from dashboard.bench.gateway.bench_process import run
from dashboard.bench.measurements import BenchError

PER_SECOND = 20
WARMING = 10  #: calls that do not count
PATIENCE = 10.0  #: seconds for a call, which has then failed
_BODY = {"messages": [{"role": "user", "content": "Why did this agent stop?"}], "max_tokens": 50}


@dataclass(slots=True)
class Heard:
    """All calls: how many, those that were not answered as they should be, and what each took, in milliseconds."""

    calls: int = 0
    failed: int = 0
    why: str = ""  #: of the first that failed
    took: list[float] = field(default_factory=list)

    def share(self, share: float) -> float:
        """What all but this share of the calls took at most."""
        ordered = sorted(self.took)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@contextmanager
def bystander(port: int, token: str, model: str) -> Iterator[Heard]:
    """One that calls for the length of the block; what it heard is there afterwards."""
    command = [sys.executable, "-m", "dashboard.bench.abuse.bystander", str(port), token, model]
    pipe, heard = subprocess.PIPE, Heard()
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:  # noqa: S603 - ours
        assert process.stdout is not None
        assert process.stdin is not None
        if process.stdout.readline() != "ready\n":
            raise BenchError("The other key's calls did not begin.")
        try:
            yield heard
        finally:
            process.stdin.close()
            for name, value in json.loads(process.stdout.read()).items():
                setattr(heard, name, value)


async def _call(session: aiohttp.ClientSession, url: str, body: bytes, due: float, heard: Heard) -> None:
    why = ""
    try:
        async with session.post(url, data=body) as answer:
            said = await answer.read()
            if answer.status != 200:
                why = f"{answer.status}: {said[:200].decode(errors='replace')}"
    except (aiohttp.ClientError, TimeoutError) as error:
        why = f"{type(error).__name__} {error}"
    heard.calls += 1
    heard.took.append(1000 * (time.perf_counter() - due))
    if why:
        heard.failed += 1
        heard.why = heard.why or why


async def _until_told(over: asyncio.Event) -> None:
    await asyncio.to_thread(sys.stdin.read)
    over.set()


async def _main(port: str, token: str, model: str) -> None:
    url, over, heard = f"http://127.0.0.1:{port}/v1/chat/completions", asyncio.Event(), Heard()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body, patience = json.dumps({"model": model, **_BODY}).encode(), aiohttp.ClientTimeout(PATIENCE)
    async with aiohttp.ClientSession(headers=headers, timeout=patience) as session:
        for _ in range(WARMING):
            await _call(session, url, body, time.perf_counter(), Heard())
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        told, calls, due = asyncio.create_task(_until_told(over)), [], time.perf_counter()
        while not over.is_set():
            calls.append(asyncio.create_task(_call(session, url, body, due, heard)))
            due += 1 / PER_SECOND
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), max(0.0, due - time.perf_counter()))
        await asyncio.gather(told, *calls)
    sys.stdout.write(json.dumps(asdict(heard)))


if __name__ == "__main__":
    run(_main(*sys.argv[1:4]))
