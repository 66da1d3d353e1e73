"""The applications as parts of what runs; to load them is slow, and worth nothing before the database is there."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from dashboard.platform.postgres import Share
from dashboard.runtime.request_guard.connection_census import ConnectionCensus
from dashboard.runtime.server import Connections, Parts, Served


def parts_of(
    web: socket.socket | Connections | None,
    simulator: socket.socket | None,
    *,
    worker: bool,
    census: ConnectionCensus,
    announce: Callable[[], None],
    database: Share | None = None,
    supervised: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> Parts:
    """`web`, `simulator`: where they are served; None leaves them out."""
    from dashboard.agents.schema_validation.judge_processes import judges
    from dashboard.gateway import app as gateway
    from dashboard.live.stream_limits import streams
    from dashboard.runtime import worker as live_worker
    from dashboard.runtime.asgi_application import application
    from dashboard.runtime.replay_processes import processes
    from dashboard.runtime.warm_up import ON_EVERY_PAGE, load_pages
    from dashboard.simulator.app import app

    async def close() -> None:
        await gateway.close()
        processes.end()
        await asyncio.to_thread(judges.end)

    judges.start()
    if web:
        processes.begin()
        load_pages(ON_EVERY_PAGE)
    return Parts(
        web=Served(application, web) if web else None,
        simulator=Served(app, simulator) if simulator else None,
        work=live_worker.run_always if worker else None,
        database=database,
        census=census,
        announce=announce,
        hang_up=streams.end_all,
        close=close,
        supervised=supervised,
    )
