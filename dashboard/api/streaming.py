"""A turn watched by a program: its events as they happen, server-sent. `/ws/turns/<id>/?format=json` tells the same."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, suppress
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.core.exceptions import ValidationError
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from dashboard.accounts.session_watch import Ticket, ticket_of_request, visitors
from dashboard.api.callers import caller
from dashboard.api.openapi import EVENTS_ANSWER, EVENTS_PARAMETERS
from dashboard.live.stream_limits import Caller, TooManyStreamsError, streams
from dashboard.live.turn_events import MAX_SEQ, DamagedTurnError, Follower, Message, followed
from dashboard.platform.db_threads import FIRST_LOOKS, in_turn, request_connection_returned
from dashboard.platform.fair_queue import FullError
from dashboard.turns import selectors

router = Router(tags=["turns"])

KEEP_ALIVE = 15.0  #: seconds of silence after which a comment says that the stream is there still
PIECE = 32 * 1024  #: bytes sent at once, at least
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
    told = _events(follower, first, who, ticket)
    return StreamingHttpResponse(told, content_type="text/event-stream", headers=HEADERS)


def seq_asked(text: str) -> int:
    """The number of the last record a caller has. Raises `ValidationError`."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_SEQ)) and int(text) <= MAX_SEQ):
        raise ValidationError({"after": f"It must be the seq of a record, or 0, not “{text[:40]}”."})
    return int(text)


def key_of(user: Any, token: Any) -> Caller:
    """The key by which a caller's streams are counted."""
    return Caller(user.pk, None if token is None else token.pk)


async def _events(follower: Follower, first: list[Message], who: Caller, ticket: Ticket) -> AsyncIterator[bytes]:
    await request_connection_returned()
    clock = asyncio.get_running_loop().time
    yield f"retry: {COME_BACK}\n\n".encode()
    told = clock()
    # Others may have come in between, or the turn was damaged; the caller comes back to a 429 or 409.
    with suppress(TooManyStreamsError, DamagedTurnError), visitors.staying(ticket) as shown_out:
        async with aclosing(followed(follower, who, first)) as looks:
            async for messages in looks:
                if shown_out.is_set():
                    return
                if messages:
                    for piece in pieces(messages):
                        yield piece
                    told = clock()
                elif clock() - told > KEEP_ALIVE:
                    yield b": still here\n\n"
                    told = clock()


def pieces(messages: list[Message]) -> Iterator[bytes]:
    """All of them, and nothing keeps those that were told: a client may read for minutes. A long message is shared by
    all streams, so none makes a copy of the whole."""
    held = bytearray()
    while messages:
        for part in _parts(messages.pop(0)):
            held += part
            if len(held) >= PIECE:
                yield bytes(held)
                held.clear()
    if held:
        yield bytes(held)


def _parts(message: Message) -> Iterator[bytes]:
    """One event. Its data is one line, for it is JSON of ASCII; only a record has an id to come back with."""
    mark = "" if message.seq is None else f"id: {message.seq}\n"
    yield f"{mark}event: {message.kind}\ndata: ".encode()
    for start in range(0, len(message.data), PIECE):
        yield message.data[start : start + PIECE].encode()
    yield b"\n\n"
