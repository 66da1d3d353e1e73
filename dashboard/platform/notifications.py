"""Telling pages that something changed: ids only, for the layer may drop anything and pages read the database.

Nobody waits for the layer: what is announced is put down, once for each group, and one task says it. So a layer that is
slow, hangs or is away neither stops a turn nor slows it; pages look by themselves each second.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID
from weakref import WeakKeyDictionary

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

log = structlog.get_logger(__name__)

TIMELINE_GROUP = "timeline"
SILENCE = 1.0  #: seconds in which nothing is said to a layer that failed
MOMENT = 0.25  #: seconds

Message = dict[str, object]


@dataclass(slots=True)
class _Speaker:
    """What is still to be said in one event loop, the last word for each group, and the task that says it."""

    words: dict[str, Message] = field(default_factory=dict)
    speaking: "asyncio.Task[None] | None" = None


_speakers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Speaker] = WeakKeyDictionary()


def turn_group(turn_id: UUID) -> str:
    return f"turn.{turn_id.hex}"


async def announce_change(turn_id: UUID, seq: int) -> None:
    """A record has been committed."""
    message = _changed(turn_id, seq)
    _say({turn_group(turn_id): message, TIMELINE_GROUP: message})


def announce_group(changed: Mapping[UUID, int], *, last: UUID) -> None:
    """Many records have been committed: the timeline hears of it once, the pages of turns under way of theirs.

    `changed`: the last record of each turn that somebody may be looking at. In an event loop.
    """
    _say({turn_group(turn): _changed(turn, seq) for turn, seq in changed.items()} | {TIMELINE_GROUP: _changed(last, 0)})


def _changed(turn_id: UUID, seq: int) -> Message:
    return {"type": "turn.changed", "turn": str(turn_id), "seq": seq}


async def announce_draft(turn_id: UUID, attempt: int) -> None:
    """More of a streaming answer has been stored."""
    _say({turn_group(turn_id): {"type": "turn.draft", "turn": str(turn_id), "attempt": attempt}})


def announce_created(turn_id: UUID) -> None:
    """For services, which are synchronous: a turn is there."""
    async_to_sync(_announce_now)(turn_id)


async def _announce_now(turn_id: UUID) -> None:
    """Waits a moment until it is said, for the loop may be one that ends with this call."""
    await announce_change(turn_id, 0)
    if speaking := _speakers[asyncio.get_running_loop()].speaking:
        await asyncio.wait({speaking}, timeout=MOMENT)


def _say(words: dict[str, Message]) -> None:
    speaker = _speakers.setdefault(asyncio.get_running_loop(), _Speaker())
    speaker.words.update(words)
    if speaker.speaking is None or speaker.speaking.done():
        speaker.speaking = asyncio.create_task(_speak(speaker))


async def _speak(speaker: _Speaker) -> None:
    while speaker.words:
        group = next(iter(speaker.words))
        try:
            await get_channel_layer().group_send(group, speaker.words.pop(group))
        except Exception as error:
            log.warning("announcement_failed", group=group, error=str(error))
            await asyncio.sleep(SILENCE)
