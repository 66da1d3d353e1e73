"""A turn watched by a program: its events as they happen, server-sent. `/ws/turns/<id>/?format=json` tells the same."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, suppress
from typing import Any, Self
from uuid import UUID

from asgiref.sync import async_to_sync
from django.core.exceptions import ValidationError
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from agentcore.quoting import quoted
from dashboard.accounts.session_watch import Ticket, ticket_of_request, visitors
from dashboard.api.callers import caller
from dashboard.api.openapi import EVENTS_ANSWER, EVENTS_PARAMETERS
from dashboard.live.stream_limits import Caller, TooManyStreamsError, streams
from dashboard.live.turn_events import MAX_SEQ, DamagedTurnError, Follower, Message, followed
from dashboard.platform.db_threads import FIRST_LOOKS, in_turn
from dashboard.platform.fair_queue import FullError
from dashboard.platform.unread_responses import KeptAnswer, kept_of
from dashboard.turns import selectors

router = Router(tags=["turns"])

KEEP_ALIVE = 15.0  #: seconds of silence after which a comment says that the stream is there still
PIECE = 32 * 1024  #: bytes sent at once, at least
#: Ends the line of an event that is not whole. No blank line follows, with which a client would take it for an event.
SLOW = b"\n: You read too slowly, and the server keeps too much for its clients. Come back with Last-Event-ID.\n"
COME_BACK = 1000  #: milliseconds after which a client of its own accord comes back
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy that buffered would tell nothing live


@router.get(
    "/turns/{turn_id}/events",
    response={200: None},
    summary="Watch a turn",
    openapi_extra={"parameters": EVENTS_PARAMETERS, "responses": {200: EVENTS_ANSWER}},
)
def turn_events(request: HttpRequest, turn_id: UUID) -> StreamingHttpResponse:
    """Server-sent events: first the past events, then new ones as they happen. The stream may end at any time.
    Reconnect with `Last-Event-ID`: no event is lost or repeated. `end` is the last event."""
    turn = selectors.turn_get(turn_id)
    seq = seq_asked(request.headers.get("Last-Event-ID") or request.GET.get("after") or "0")
    who = key_of(caller(request), getattr(request, "auth_token", None))
    streams.require_room(who)
    follower = Follower(turn.id, seq)
    # A turn that cannot be read is refused in words: who comes back then stays away.
    try:
        first = async_to_sync(in_turn)(FIRST_LOOKS, who.user, follower.look)
    except FullError as error:
        raise TooManyStreamsError from error
    ticket = ticket_of_request(request)
    told = _events(follower, first, who, ticket, UnsentMessages(kept_of(getattr(request, "scope", {}))))
    return StreamingHttpResponse(told, content_type="text/event-stream", headers=HEADERS)


def seq_asked(text: str) -> int:
    """The number of the last record a caller has. Raises `ValidationError`."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_SEQ)) and int(text) <= MAX_SEQ):
        raise ValidationError({"after": f"It must be the seq of a record, or 0, not {quoted(text)}."})
    return int(text)


def key_of(user: Any, token: Any) -> Caller:
    """The key by which a caller's streams are counted."""
    return Caller(user.pk, None if token is None else token.pk)


class UnsentMessages:
    """Counted as kept for the client (`KeptAnswer`), to the end of the block. It is taken away where the client does
    not read, and all clients together have too much to read: `gone` then. Who comes back misses nothing."""

    def __init__(self, kept: KeptAnswer) -> None:
        self._kept = kept
        self._messages: deque[Message] = deque()
        self.gone = False
        kept.give_up = self._give_up

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._messages.clear()
        self._kept.clear()

    def add(self, messages: list[Message]) -> None:
        """Takes them out of the list, so that nothing else keeps them while a client reads."""
        while messages and not self.gone:
            message = messages.pop(0)
            self._messages.append(message)
            self._kept.keep(message, len(message.data))

    def begin(self, held: bytearray) -> int | None:
        """Write the beginning of the next event; the characters of its data. None: there is none."""
        if not self._messages:
            return None
        message = self._messages[0]
        mark = "" if message.seq is None else f"id: {message.seq}\n"
        held += f"{mark}event: {message.kind}\ndata: ".encode()
        return len(message.data)

    def part(self, start: int, end: int) -> bytes:
        """Of the data of the next event, which is ASCII."""
        return self._messages[0].data[start:end].encode() if self._messages else b""

    def as_frame(self) -> str | None:
        """The next event as a socket has it. None: there is none."""
        if not self._messages:
            return None
        message = self._messages[0]
        mark = "" if message.seq is None else f'"id":{message.seq},'
        return f'{{"type":"{message.kind}",{mark}"data":{message.data}}}'

    def told(self) -> None:
        """The next event was told."""
        if self._messages:
            self._kept.let_go(self._messages.popleft())

    def _give_up(self) -> None:
        self.gone = True
        self._messages.clear()
        self._kept.clear()


async def _events(
    follower: Follower, first: list[Message], who: Caller, ticket: Ticket, untold: UnsentMessages
) -> AsyncIterator[bytes]:
    clock = asyncio.get_running_loop().time
    yield f"retry: {COME_BACK}\n\n".encode()
    told = clock()
    # Others may have come in between, or the turn was damaged; the caller comes back to a 429 or 409.
    with suppress(TooManyStreamsError, DamagedTurnError), visitors.staying(ticket) as shown_out, untold:
        async with aclosing(followed(follower, who, first)) as looks:
            async for messages in looks:
                if shown_out.is_set():
                    return
                if messages:
                    untold.add(messages)
                    for piece in pieces(untold):
                        yield piece
                    told = clock()
                    if untold.gone:
                        yield SLOW
                        return
                elif clock() - told > KEEP_ALIVE:
                    yield b": still here\n\n"
                    told = clock()


def pieces(untold: UnsentMessages) -> Iterator[bytes]:
    """All of it, until it is taken away. An event's data is one line, for it is JSON of ASCII; only a record has an id
    to come back with. Between two pieces nothing here keeps a message, and of a long one no copy is made."""
    held = bytearray()
    while (size := untold.begin(held)) is not None:
        for start in range(0, size, PIECE):
            held += untold.part(start, start + PIECE)
            if len(held) >= PIECE:
                yield bytes(held)
                held.clear()
        untold.told()
        held += b"" if untold.gone else b"\n\n"
    if held:
        yield bytes(held)
