"""The loop of a sender that looks for what is due and sends it beside all else that a worker does."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

import structlog

log = structlog.get_logger(__name__)


async def keep_sending(
    look: Callable[[], Awaitable[None]], *, every: float, fault: str, under_way: Collection[asyncio.Task[None]]
) -> None:
    """Looks every so many seconds until it is cancelled, and then ends what is `under_way`. A look that fails is logged
    as `fault`."""
    try:
        while True:
            try:
                await look()
            except Exception as error:
                log.warning(fault, error=str(error))
            await asyncio.sleep(every)
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
