"""A turn in the terminal: queued like any other, worked on here, and told line by line while it runs.

The turn has a queue of its own, so this process takes no other's work; should it die, any worker takes the turn up.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit
from uuid import UUID

import uvicorn

from dashboard.agents.models import Connection
from dashboard.client.narration import answer_of
from dashboard.live.services import turn_cancel
from dashboard.platform.db_threads import in_database
from dashboard.runtime import worker
from dashboard.turns import selectors
from dashboard.turns.history import draft_of
from dashboard.turns.models import UNFINISHED, Record, Turn
from dashboard.turns.record_reader import records_of

LOOK_SECONDS = 0.05


class ProgressSink(Protocol):
    """Receives the progress of a turn."""

    def said(self, text: str) -> None: ...

    def recorded(self, record: Record) -> None: ...


@dataclass(slots=True)
class Watch:
    """How much of a turn has been told: records by `seq`, and characters of the answer that is streaming."""

    telling: ProgressSink
    seq: int = 0
    streamed: int = 0

    def look(self, turn_id: UUID) -> Turn:
        """Tell what is new: what was recorded, then what has been streamed since."""
        turn = selectors.turn_of_any_project(turn_id)
        for record in records_of(turn_id, after=self.seq):
            self._stream(answer_of(record.event))
            self.streamed = 0
            self.telling.recorded(record)
            self.seq = record.seq
        self._stream(draft_of(turn))
        return turn

    def _stream(self, text: str) -> None:
        if len(text) > self.streamed:
            self.telling.said(text[self.streamed :])
            self.streamed = len(text)


async def work_and_watch(turn: Turn, queue: str, telling: ProgressSink, stop: asyncio.Event) -> Turn:
    """Work on the turn until it has ended or is held. When `stop` is set the turn is cancelled, and its end told."""
    over = asyncio.Event()
    working = asyncio.create_task(worker.run(over, queues=(queue,)))
    watching = asyncio.create_task(_watch(turn.id, Watch(telling), stop))
    await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
    over.set()
    if not watching.done():
        watching.cancel()
    await asyncio.gather(working, watching, return_exceptions=True)
    if not watching.cancelled():
        return watching.result()
    working.result()
    raise AssertionError("the worker returned before it was told to")


async def _watch(turn_id: UUID, watch: Watch, stop: asyncio.Event) -> Turn:
    cancelled = False
    while True:
        turn = await in_database(watch.look, turn_id)
        if turn.status not in UNFINISHED or turn.status == "held":
            return await in_database(watch.look, turn_id)
        if stop.is_set() and not cancelled:
            cancelled = True
            await in_database(turn_cancel, turn=turn, by="the terminal")
        await asyncio.sleep(LOOK_SECONDS)


@contextlib.asynccontextmanager
async def simulator_for(connection: Connection) -> AsyncIterator[None]:
    """The simulator where the connection expects it, unless something answers there already."""
    port = _silent_simulator_port(connection)
    if port is None:
        yield
        return
    from dashboard.simulator.app import app

    config = uvicorn.Config(app, host="127.0.0.1", port=port, lifespan="off", log_config=None, access_log=False)
    server = _Quiet(config)
    serving = asyncio.create_task(server.serve())
    try:
        yield
    finally:
        server.should_exit = True
        app.hang_up()
        await asyncio.gather(serving, return_exceptions=True)


class _Quiet(uvicorn.Server):
    """uvicorn that leaves signals alone."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


def _silent_simulator_port(connection: Connection) -> int | None:
    import socket

    parts = urlsplit(connection.base_url)
    if connection.name != "simulator" or parts.hostname != "127.0.0.1" or parts.port is None:
        return None
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", parts.port), timeout=1):
        return None
    return parts.port
