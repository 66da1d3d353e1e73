"""`python -m dashboard.bench.chaos.process worker|up`: a real process of Whystop, with two tools that leave a trace.

Each run of a tool is a line in `runs` of the folder `CHAOS_FOLDER`, written before it does anything else; what the
queue knows the process by stands in `worker-<pid>`.
"""

import asyncio
import gc
import os
import sys
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command

FOLDER = Path(os.environ.get("CHAOS_FOLDER", "."))
TOOL_SECONDS = 1.5  #: how long a tool takes, so that kills find it running


def note(tool: str, turn_id: str) -> None:
    """One line, whole, whoever else writes."""
    descriptor = os.open(FOLDER / "runs", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{tool} {turn_id}\n".encode())
    finally:
        os.close(descriptor)


def register() -> None:
    from dashboard.tools.registry import registry
    from dashboard.tools.tool import TurnContext

    @registry.tool()
    async def stamp(turn: TurnContext) -> str:
        """Put a stamp on the turn, which must not happen twice."""
        note("stamp", turn.turn_id)
        await asyncio.sleep(TOOL_SECONDS)
        return "stamped"

    @registry.tool(idempotent=True)
    async def look(turn: TurnContext) -> str:
        """Look at the turn, which may happen again."""
        note("look", turn.turn_id)
        await asyncio.sleep(TOOL_SECONDS)
        return "looked"


def tell_worker() -> None:
    from dashboard.live import resilient_worker
    from dashboard.runtime import worker

    class Told(resilient_worker.ResilientWorker):
        """Writes down by which id it is registered, each time it changes."""

        def _start_side_tasks(self) -> Any:
            self._tell()
            return super()._start_side_tasks()

        async def _beat(self) -> None:
            await super()._beat()
            self._tell()

        def _tell(self) -> None:
            (FOLDER / f"worker-{os.getpid()}").write_text(str(self.worker_id))

    vars(worker)["ResilientWorker"] = Told


if __name__ == "__main__":
    gc.disable()  # until all is loaded, as in manage.py
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    django.setup()
    register()
    tell_worker()
    call_command(sys.argv[1])
