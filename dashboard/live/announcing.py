"""Telling pages that something changed: ids only, for the layer may drop anything and pages read the database."""

import asyncio
import time
from dataclasses import dataclass
from uuid import UUID

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

log = structlog.get_logger(__name__)

TIMELINE_GROUP = "timeline"
PATIENCE = 1.0  #: seconds a turn waits for the layer
SILENCE = 1.0  #: seconds in which nothing is said to a layer that failed; pages look by themselves each second


@dataclass(slots=True)
class _Layer:
    silent_until: float = 0.0  #: by `time.monotonic`


_layer = _Layer()


def turn_group(turn_id: UUID) -> str:
    return f"turn.{turn_id.hex}"


async def announce_change(turn_id: UUID, seq: int) -> None:
    """A record has been committed."""
    message = {"type": "turn.changed", "turn": str(turn_id), "seq": seq}
    await _send(turn_group(turn_id), message)
    await _send(TIMELINE_GROUP, message)


async def announce_draft(turn_id: UUID, attempt: int) -> None:
    """More of a streaming answer has been stored."""
    await _send(turn_group(turn_id), {"type": "turn.draft", "turn": str(turn_id), "attempt": attempt})


def announce_created(turn_id: UUID) -> None:
    """For services, which are synchronous: a turn is there."""
    async_to_sync(announce_change)(turn_id, 0)


async def _send(group: str, message: dict[str, object]) -> None:
    """A page that misses a message catches up by itself, so a broken layer must neither stop a turn nor slow it."""
    if time.monotonic() < _layer.silent_until:
        return
    try:
        async with asyncio.timeout(PATIENCE):
            await get_channel_layer().group_send(group, message)
    except Exception as error:
        _layer.silent_until = time.monotonic() + SILENCE
        log.warning("announcement_failed", group=group, error=str(error) or "no answer in time")
