"""Threads for synchronous tools: few, waited for in order, and never a reason not to end."""

import asyncio
import subprocess
import sys
import threading

import pytest

from dashboard.tools.threads import ToolThreads


def test_no_more_than_so_many_run_at_once_and_all_run():
    running, most = 0, 0
    lock = threading.Lock()

    def work() -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        return 1

    async def all_of_them() -> int:
        threads = ToolThreads(most=3)
        return sum(await asyncio.gather(*(threads.run(work) for _ in range(20))))

    assert asyncio.run(all_of_them()) == 20
    assert 1 <= most <= 3


def test_what_was_cancelled_before_it_began_never_runs():
    release, ran = threading.Event(), threading.Event()

    async def story() -> None:
        threads = ToolThreads(most=1)
        first = asyncio.create_task(threads.run(lambda: release.wait(30)))
        await asyncio.sleep(0)
        second = asyncio.create_task(threads.run(ran.set))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        release.set()
        assert await first
        assert await threads.run(lambda: "after") == "after"

    asyncio.run(story())
    assert not ran.is_set()


def test_a_thread_that_never_ends_does_not_keep_the_process():
    script = (
        "import asyncio, threading\n"
        "from dashboard.tools.threads import threads\n"
        "async def main():\n"
        "    try: await asyncio.wait_for(threads.run(threading.Event().wait), 0.05)\n"
        "    except TimeoutError: print('late')\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    assert ended.stdout == b"late\n"
