"""`manage.py worker`: drive turns in a process of its own, on any number of hosts."""

import asyncio
import signal
from typing import Any

from django.core.management.base import BaseCommand

from dashboard.live import worker


class Command(BaseCommand):
    help = "Drive queued turns and backtests. Any number may run; Ctrl-C leaves turns under way to the others."

    def handle(self, *_args: Any, **_options: Any) -> None:
        asyncio.run(_work())


async def _work() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await worker.run(stop)
