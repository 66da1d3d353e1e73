"""The ASGI application before all others: bodies are bounded before they are kept, and answers are kept private.

The heads of requests, and how long they may take, are the protocol's (`protocol.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

import structlog
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError

from dashboard.accounts.access import is_machine
from dashboard.accounts.error_responses import AWAY, AWAY_TITLE, STRANGER
from dashboard.accounts.websocket import NO_PLACE, TOO_MANY, deny
from dashboard.ingest.turn_files import import_queue
from dashboard.platform.disconnects import SCOPE_KEY, ClientConnection, CutShortError
from dashboard.platform.fair_queue import FullError
from dashboard.runtime.replay_addresses import STOPS
from dashboard.runtime.request_guard.body_limits import SMALL, body_limit_of
from dashboard.runtime.request_guard.callers import is_known
from dashboard.runtime.request_guard.concurrency_limits import (
    ConcurrencyLimits,
    RequestPlace,
    concurrency_limits_of_loop,
    takes_place,
)
from dashboard.runtime.request_guard.refusals import CHALLENGE, Answer, refusal
from dashboard.runtime.request_guard.sign_in_queue import SignInPlace, account_in, is_sign_in

log = structlog.get_logger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

PRIVATE = (b"cache-control", b"private, no-store")
FILE_SECONDS, FILE_RATE = 30.0, 50_000  #: in which a file is taken, and bytes a second beyond that
_LARGE = "This is too large: {what} may have at most {most:,} bytes. Nothing was changed. Send less at once."
_UNKNOWN = f"Sign in first, then send this again: without signing in a request may have at most {SMALL:,} bytes."
#: Threads of their own: to end a statement may take two seconds, and many clients may hang up at once.
_ENDING = ThreadPoolExecutor(max_workers=4, thread_name_prefix="client-gone")
_DIGITS = 18  #: of a length; what is longer is far beyond every bound
_AGAIN = ((b"retry-after", b"1"),)
NOT_BEGUN = ((b"x-not-begun", b"1"),)  #: the pages' scripts tell by it that nothing was done, and send it again
_OFTEN = "Too many requests come from you at once. Wait a second, then send this again."
_BUSY = "Whystop is busy. Your request was not carried out. Try again in a few seconds."
_UNREAD = Answer(HTTPStatus.REQUEST_TIMEOUT, ((b"content-length", b"0"),), b"")  #: to a client that has gone


class SlowReaderError(CutShortError):
    """Raised inside an application that sends a file to a client that does not take it."""

    def __init__(self) -> None:
        super().__init__("It was read too slowly.")


class Guard:
    """`application` behind it."""

    def __init__(self, application: Application, *, processes: int = 1) -> None:
        self._application, self._processes = application, processes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "websocket":
            await self._shake_hands(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, concurrency_limits_of_loop(self._processes))
        announced = _announced(scope)
        if announced == 0:
            await exchange.enter()  # so that who finds no place costs no application its beginning
        elif announced is not None and announced > SMALL:
            exchange.refused = await exchange.judge(announced)
        if exchange.refused is None:
            try:
                await self._application(scope, exchange.receive, exchange.send)
            except CutShortError as error:
                log.info("download_ended", path=scope["path"], why=str(error))
                raise  # for the protocol, which closes the connection
            finally:
                exchange.leave()
        if exchange.refused is not None and not exchange.begun:
            await _answer(exchange.refused, send)

    async def _shake_hands(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A websocket, which takes a place until it is answered whether it may come in."""
        try:
            place = await concurrency_limits_of_loop(self._processes).enter(scope)
        except FullError as full:
            await deny(scope, receive, send, TOO_MANY if full.own else NO_PLACE)
            return

        async def answered(message: Message) -> None:
            if place is not None:
                place.answered()
            await send(message)

        try:
            await self._application(scope, receive, answered)
        finally:
            if place is not None:
                place.leave()


class _Exchange:
    """One request: how much of its body has come, and whether it goes on."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, rooms: ConcurrencyLimits) -> None:
        self._scope, self._receive, self._send, self._rooms = scope, receive, send, rooms
        self._client = scope[SCOPE_KEY] = ClientConnection()
        self._size, self._allowed = 0, SMALL
        self._whole = False  #: the body is here
        self._handed = False  #: and the application has it
        self._heard: list[Message] = []  #: while it waited in line
        self._form = bytearray() if is_sign_in(scope) else None  #: of the sign-in page, as far as it has come
        self._place: RequestPlace | SignInPlace | None = None
        self.refused: Answer | None = None
        self.begun = False
        self._answering = asyncio.Event()  #: set with `begun`
        self._until = 0.0  #: when a client has taken too little of a file, by the loop's clock

    async def receive(self) -> Message:
        """What the client sends; where it is too much, for the application it has gone.

        Whoever hangs up is not told of before the answer begins: the application would give its place back, while the
        thread works on for a moment. Before the application has the request, no thread works on it; and a replay's
        process is ended.
        """
        message = await self._next() if self.refused is None else {}
        if message.get("type") == "http.disconnect":
            await self._end_work()
            if self._works_on:
                await self._answering.wait()
        self._size += len(message.get("body", b""))
        if self._form is not None and self._size <= SMALL:
            self._form += message.get("body", b"")
        if self._size > self._allowed:
            self.refused = await self.judge(self._size)
        ends = message["type"] == "http.request" and not message.get("more_body", False)
        if ends and self.refused is None and not self._whole:
            await self.enter()
        self._handed = self._handed or ends
        return message if self.refused is None else {"type": "http.disconnect"}

    async def _next(self) -> Message:
        return self._heard.pop(0) if self._heard else await self._receive()

    async def _end_work(self) -> None:
        """The client has gone. Where nothing works for it, no thread is needed to end that."""
        for end in self._client.leave():
            await asyncio.get_running_loop().run_in_executor(_ENDING, end)

    @property
    def _works_on(self) -> bool:
        """Whether a thread works on it."""
        return self._handed and self._place is not None and not self._scope.get(STOPS)

    async def send(self, message: Message) -> None:
        """What the application answers, unless it was refused."""
        if self.refused is not None and not self.begun:
            return
        if message["type"] == "http.response.start":
            if self._place is not None:
                self._place.answered(message["status"])
            self.begun = True
            self._answering.set()
            self._until = asyncio.get_running_loop().time() + FILE_SECONDS
            message = {**message, "headers": _kept_private(self._scope["path"], message.get("headers", ()))}
        if self._place is not None and self._place.until_sent:
            await self._send_in_time(message)
        else:
            await self._send(message)

    async def _send_in_time(self, message: Message) -> None:
        """A piece of a file, to a client that takes `FILE_RATE` or more: others wait for its place."""
        self._until += len(message.get("body", b"")) / FILE_RATE
        try:
            async with asyncio.timeout_at(self._until):
                await self._send(message)
        except TimeoutError as error:
            raise SlowReaderError from error

    def leave(self) -> None:
        """Give its place to the next."""
        if self._place is not None:
            self._place.leave()

    async def enter(self) -> None:
        """All of the request is here: take a place among those that are worked on, or refuse it. Where the client goes
        while it waits in line, nothing begins on it."""
        self._whole = True
        if not takes_place(self._scope["path"]):
            return
        try:
            async with asyncio.timeout(None) as in_line:
                listening = asyncio.create_task(self._listen(in_line))
                try:
                    self._place = await self._rooms.enter(self._scope, account=account_in(bytes(self._form or b"")))
                finally:
                    listening.cancel()
        except TimeoutError:
            self.refused = _UNREAD
        except FullError as full:
            self.refused = _refused(self._scope, full)

    async def _listen(self, in_line: asyncio.Timeout) -> None:
        """Nobody else does while the request waits: what `in_line` encloses ends when the client goes."""
        heard: Message = {}
        while heard.get("type") != "http.disconnect":
            heard = await self._receive()
            self._heard.append(heard)
        self._client.leave()  # no thread works for it yet
        in_line.reschedule(0)

    async def judge(self, size: int) -> Answer | None:
        """Why a body of this size is not taken; None: it is."""
        path = self._scope["path"]
        allowed = body_limit_of(self._scope["method"], path)
        if size > allowed.most:
            fragment = any(name == b"hx-request" for name, _ in self._scope["headers"])
            return refusal(path, 413, _LARGE.format(what=allowed.what, most=allowed.most), fragment=fragment)
        if allowed.asks:
            try:
                known = await database_sync_to_async(is_known)(self._scope["headers"])
            except (OperationalError, InterfaceError):
                return refusal(path, 503, AWAY, more=_AGAIN, title=AWAY_TITLE)
            if not known:
                return refusal(path, 401, STRANGER if is_machine(path) else _UNKNOWN, more=(CHALLENGE,))
        self._allowed = allowed.most
        return None


def _refused(scope: Scope, full: FullError) -> Answer:
    """What is told to a request that found no place."""
    status, told, again = (429, _OFTEN, _AGAIN) if full.own else (503, _BUSY, _AGAIN)
    if import_queue.is_import(scope["method"], scope["path"]):
        wait = import_queue.seconds_left(full.ahead)
        told = import_queue.TOO_MANY if full.own else import_queue.busy_words(wait)
        again = ((b"retry-after", b"%d" % wait),)
    return refusal(scope["path"], status, told, more=(*again, *NOT_BEGUN), again=scope["method"] == "GET")


def _announced(scope: Scope) -> int | None:
    """The length of the body, as the parser has checked it; None where it comes in chunks."""
    told = dict(scope["headers"])
    if b"transfer-encoding" in told:
        return None
    length = told.get(b"content-length", b"0")
    return int(length[:_DIGITS]) if length.isdigit() else None


def _kept_private(path: str, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that nobody but its caller keeps; static files say for themselves how long they last."""
    told = list(headers)
    said = next((value for name, value in told if name.lower() == PRIVATE[0]), b"")
    if (b"no-store" in said and b"private" in said) or (said and path.startswith(settings.STATIC_URL)):
        return told
    return [*((name, value) for name, value in told if name.lower() != PRIVATE[0]), PRIVATE]


async def _answer(refused: Answer, send: Send) -> None:
    await send({"type": "http.response.start", "status": refused.status, "headers": list(refused.headers)})
    await send({"type": "http.response.body", "body": refused.body})
