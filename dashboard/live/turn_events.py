"""What a program that watches a turn is told: its records, what streams in between, and its end.

Server-sent events and sockets carry the same messages. All of it is read from the database, by the number of the last
record that was told; the layer only says when to look, and each second it is looked unasked.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal
from uuid import UUID
from weakref import WeakValueDictionary

import structlog
from channels.layers import get_channel_layer
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Exists

from dashboard.live.selectors import turn_now
from dashboard.live.stream_limits import Caller, streams
from dashboard.platform.db_threads import LOOKS, in_turn
from dashboard.platform.notifications import turn_group
from dashboard.turns import selectors
from dashboard.turns.api_serializers import record_json
from dashboard.turns.damaged_pages import damage_words_of
from dashboard.turns.models import UNFINISHED, Attempt, Piece, Turn
from dashboard.turns.record_reader import records_of

log = structlog.get_logger(__name__)

PACE = 0.15  #: seconds between two looks
PATIENCE = 1.0  #: seconds until a look that nothing announced
GATHER = 0.01  #: seconds in which others may join a look; an announcement wakes all watchers of a turn
LIFETIME = 900.0  #: seconds of one stream; who comes back is asked for a valid token again
MOST_RECORDS = 20  #: read at once
MOST_CHARS = 1_000_000  #: of records, after which no further one is read at once
MAX_SEQ = 2**31 - 1
MOST_PIECES = 500  #: of an answer, read at once


@dataclass(frozen=True, slots=True)
class Progress:
    """The last record's number (0: none yet), and whether the turn has ended."""

    seq: int
    ended: bool


def progress_of(turn_id: UUID) -> Progress | None:
    """None where there is no such turn, or not any more. One small query: it is asked again and again for everyone who
    watches a turn."""
    found = Turn.objects.filter(id=turn_id).values_list("last_seq", "status").first()
    return None if found is None else Progress(found[0], found[1] not in UNFINISHED)


@dataclass(frozen=True, slots=True)
class DraftPosition:
    """How much is known of an answer that streams: its attempt, the last of its pieces, the characters up to there."""

    attempt: int = 0
    piece: int = 0
    offset: int = 0


def drafted(turn_id: UUID, *, seq: int, place: DraftPosition) -> tuple[str, DraftPosition]:
    """The text that streamed after `place` in answer to record `seq`, and the place behind it.

    Empty where nothing did, and where a newer record tells it all. Long texts come in parts: ask again.
    """
    attempt = _in_flight(turn_id, seq)
    if attempt is None:
        return "", place
    here = place if place.attempt == attempt else DraftPosition(attempt)
    pieces = Piece.objects.filter(turn_id=turn_id, attempt=attempt, n__gt=here.piece).order_by("n")
    rows = list(pieces.values_list("n", "text")[:MOST_PIECES])
    text = "".join(text for _, text in rows)
    return text, DraftPosition(attempt, rows[-1][0] if rows else here.piece, here.offset + len(text))


def _in_flight(turn_id: UUID, seq: int) -> int | None:
    """The attempt under way that record `seq` asked for. One statement, so that both are of one moment."""
    is_last = Exists(Turn.objects.filter(id=turn_id, last_seq=seq))
    running = Attempt.objects.filter(is_last, turn_id=turn_id, duration_ms=None)
    return running.order_by("-index").values_list("index", flat=True).first()


class DamagedTurnError(Exception):
    """What is stored of the turn was changed or damaged; its text says what."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Message:
    """`data`: JSON text; a record's is as the API's list of records has it. `seq`: the record's number."""

    kind: Literal["record", "draft", "end"]
    data: str
    seq: int | None = None


#: What someone has still to be told of a turn, by the message's kind and number.
_untold: WeakValueDictionary[tuple[UUID, str, int | None], Message] = WeakValueDictionary()


def _shared(turn_id: UUID, message: Message) -> Message:
    """The same message that another has still to be told, or else this one: all who do not read keep one copy."""
    place = turn_id, message.kind, message.seq
    kept = _untold.get(place)
    if kept == message:
        return kept
    _untold[place] = message
    return message


@dataclass(slots=True)
class Follower:
    """Someone who watches a turn, and how much they have been told."""

    turn_id: UUID
    seq: int = 0  #: of the last record told
    place: DraftPosition = field(default_factory=DraftPosition)
    over: bool = False  #: the end has been told, or the turn is not there any more
    behind: bool = False  #: there is more to tell at once

    def look(self) -> list[Message]:
        """The messages that are due now. Called in a thread. Raises LookupError where records are missing."""
        progress = progress_of(self.turn_id)
        if progress is None:
            self.over = True
            return []
        messages = self._recorded() if progress.seq > self.seq else [] if progress.ended else self._drafted()
        self.behind = progress.seq > self.seq
        if progress.ended and not self.behind:
            messages += self._ended()
        return [_shared(self.turn_id, message) for message in messages]

    def _recorded(self) -> list[Message]:
        messages, size = list[Message](), 0
        for row in records_of(self.turn_id, after=self.seq, upto=self.seq + MOST_RECORDS):
            messages.append(Message("record", _json(record_json(row)), row.seq))
            self.seq, size = row.seq, size + len(messages[-1].data)
            if size > MOST_CHARS:
                break
        if not messages:  # and never will be: who waited for them would look without a pause
            raise LookupError(f"Record {self.seq + 1} is missing.")
        return messages

    def _drafted(self) -> list[Message]:
        text, after = drafted(self.turn_id, seq=self.seq, place=self.place)
        offset = after.offset - len(text)
        self.place = after
        return [Message("draft", _json({"attempt": after.attempt, "offset": offset, "text": text}))] if text else []

    def _ended(self) -> list[Message]:
        self.over = True
        with suppress(Turn.DoesNotExist):
            return [Message("end", _json(turn_now(selectors.turn_of_any_project(self.turn_id))))]
        return []


def _json(shown: Any) -> str:
    """One line of ASCII, so that any text a model ever said can be sent."""
    return json.dumps(shown, cls=DjangoJSONEncoder, separators=(",", ":"))


async def followed(
    follower: Follower, caller: Caller, seen: list[Message] | None = None
) -> AsyncGenerator[list[Message], None]:
    """What there is to tell, look by look: at least one a second, often an empty one. `seen`: where it has looked.
    Who is told may empty a list, so that nothing keeps it while a client reads.

    Ends with the turn, after `LIFETIME`, and when the database or the server stops. Raises `TooManyStreamsError`, and
    `DamagedTurnError` where what is stored of the turn cannot be read any more.
    """
    deadline = asyncio.get_running_loop().time() + LIFETIME
    with streams.opened(caller) as wake:
        async with _announced(follower.turn_id, wake):
            if seen is not None:
                yield seen
            while not (streams.ending or follower.over):
                wake.clear()
                try:
                    told = await _looked(follower, caller.user)
                except Exception as error:
                    log.warning("stream_failed", turn=str(follower.turn_id), error=str(error))
                    if words := await _damage(follower.turn_id, caller.user, error):
                        raise DamagedTurnError(words) from error
                    return  # a database that is away: who comes back when it is there misses nothing
                yield told
                if follower.over or asyncio.get_running_loop().time() > deadline:
                    return
                if not follower.behind:
                    await asyncio.sleep(PACE)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(wake.wait(), _until_the_tick())


async def _damage(turn_id: UUID, who: int, error: Exception) -> str:
    with suppress(Exception):
        return await in_turn(LOOKS, who, partial(damage_words_of, turn_id, error, path=turn_group(turn_id)))
    return ""


def _until_the_tick() -> float:
    """Seconds until all that hear nothing look, at the same moment."""
    return PATIENCE - asyncio.get_running_loop().time() % PATIENCE


#: Looks that are about to begin, by what they will tell: of which turn, after which record and piece.
_gathering: dict[tuple[UUID, int, DraftPosition], "asyncio.Task[tuple[Follower, list[Message]]]"] = {}


async def _looked(follower: Follower, who: int) -> list[Message]:
    """What there is to tell. Those who have been told as much and look at the same moment look once together."""
    known = (follower.turn_id, follower.seq, follower.place)
    if known not in _gathering:
        _gathering[known] = asyncio.create_task(_look(known, who))
    after, told = await asyncio.shield(_gathering[known])
    follower.seq, follower.place, follower.over, follower.behind = after.seq, after.place, after.over, after.behind
    return [*told]


async def _look(known: tuple[UUID, int, DraftPosition], who: int) -> tuple[Follower, list[Message]]:
    follower = Follower(*known)
    await asyncio.sleep(GATHER)
    # From here on it may be too early for what another has heard of.
    del _gathering[known]
    return follower, await in_turn(LOOKS, who, follower.look)


@asynccontextmanager
async def _announced(turn_id: UUID, wake: asyncio.Event) -> AsyncIterator[None]:
    """While it lasts, `wake` is set by each word of the layer about the turn."""
    listening = asyncio.create_task(_listen(turn_group(turn_id), wake))
    try:
        yield
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening


async def _listen(group: str, wake: asyncio.Event) -> None:
    """A layer that fails costs up to a second per look, nothing else."""
    layer = get_channel_layer()
    try:
        channel = await layer.new_channel()
        await layer.group_add(group, channel)
        try:
            while True:
                await layer.receive(channel)
                wake.set()
        finally:
            await layer.group_discard(group, channel)
    except Exception as error:
        log.warning("live_layer_failed", group=group, error=str(error))
