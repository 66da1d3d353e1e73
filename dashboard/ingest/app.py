"""OTLP/HTTP's addresses, as an ASGI application in front of the others: `POST /v1/traces` and `POST /v1/logs`.

Strangers are answered before anything is read of what they send. A request that was answered with 200 is stored: its
turns are there when the exporter reads the answer. One that failed may be sent again; what came twice is kept once.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

import structlog
from django.db import DataError

from agentcore.number_format import seconds
from dashboard.agents.schema_validation.judge_overload import BUSY, JudgesBusy
from dashboard.agents.schema_validation.validator import asking_as, judging_budget
from dashboard.gateway.access import authentication
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.access.refusals import Refusal
from dashboard.gateway.serving.request_body import Receive
from dashboard.gateway.serving.response_writer import Send
from dashboard.gateway.validation import TRACES
from dashboard.gateway.wire.decompression import KNOWN, MOST_PACKED, PackedError, TooLargeError, unpacked
from dashboard.ingest.services import SMALL, LargeError, Outcome, ingest
from dashboard.ingest.wire import bodies, json_body, protobuf
from dashboard.ingest.wire.bodies import JSON, PROTOBUF, BodyError, ParsedBody
from dashboard.metrics.counters import count_spans
from dashboard.platform.db_threads import AWAY, in_database
from dashboard.platform.fair_queue import FairQueue, FullError, QueueSize
from dashboard.platform.notifications import announce_group
from dashboard.platform.statement_timeout import SECONDS, was_too_slow

log = structlog.get_logger(__name__)

MOST_SECONDS = 60.0  #: that a body may take to come
#: Of requests whose bodies are here. One sender has two places, as many as are worth having, so another finds one.
WIDTH = QueueSize(places=3, of_one=2, waiting=64, waiting_of_one=8, seconds=60.0)
#: Of those that take long (`SMALL`), once they are read: one at a time, beside the places of `WIDTH`.
LARGE_WIDTH = QueueSize(places=1, of_one=1, waiting=64, waiting_of_one=8, seconds=60.0)
MOST_OF_ONE = 8  #: requests of one sender that are held at once, those whose bodies are still coming included
MOST_HELD = 32  #: of all senders; beyond it each may have one, up to `MOST_SENDERS`
MOST_SENDERS = 64
RETRY_SECONDS = 2
TOO_SLOW = (
    f"A statement of the database took more than {seconds(SECONDS['page'])} and was stopped; nothing was stored. Send "
    "this again; if that happens again, send fewer spans at once."
)
_READERS: Mapping[tuple[str, str], Callable[[bytes, str], ParsedBody]] = {
    ("traces", PROTOBUF): protobuf.spans_of,
    ("traces", JSON): json_body.spans_of,
    ("logs", PROTOBUF): protobuf.logs_of,
    ("logs", JSON): json_body.logs_of,
}
_SIGNALS = {"/v1/traces/": "traces", "/v1/logs/": "logs"}

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ExportResponse:
    """`again`: after how many seconds the exporter may send the same again; None: it would be answered the same."""

    status: int
    body: bytes
    again: int | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()


class ExportRefused(Exception):
    """Why a request is not taken, as the exporter is told."""

    def __init__(self, status: int, message: str, again: int | None = None, allow: bytes = b"") -> None:
        super().__init__(message)
        self.status, self.message, self.again, self.allow = status, message, again, allow


class _Line(FairQueue):
    """Of one event loop: the senders whose requests are held, and who is worked on."""

    def __init__(self) -> None:
        super().__init__(WIDTH)
        self.large = FairQueue(LARGE_WIDTH)
        self._held: Counter[str] = Counter()

    @contextmanager
    def held(self, sender: str) -> Iterator[None]:
        """Hold a request for the length of the block. A sender who has many is told to wait before others are."""
        own, total = self._held[sender], self._held.total()
        if own >= MOST_OF_ONE:
            raise ExportRefused(
                429, f"This key has {own} requests in progress; send this again when one has ended.", RETRY_SECONDS
            )
        if total >= (MOST_HELD if own else MOST_SENDERS):
            raise ExportRefused(503, "Whystop is busy. This export was not stored. Send it again later.", RETRY_SECONDS)
        self._held[sender] += 1
        try:
            yield
        finally:
            self._held[sender] -= 1
            if not self._held[sender]:
                del self._held[sender]


_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()


class Ingest:
    """`application` with OTLP's addresses in front of it."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = f"{scope['path']}/" if scope["type"] == "http" else ""
        signal = next((signal for prefix, signal in _SIGNALS.items() if path.startswith(prefix)), None)
        if signal is None:
            await self._application(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        form = _form(headers)
        try:
            answer = await _answer(scope, signal, form, headers, receive)
        except ExportRefused as told:
            allow = ((b"allow", told.allow),) if told.allow else ()
            answer = ExportResponse(told.status, bodies.failure(form or JSON, told.message), told.again, allow)
        except _GoneError:
            return
        await _send(answer, form or JSON, send)


class _GoneError(Exception):
    """The exporter has hung up before its body was whole."""


async def _answer(
    scope: Scope, signal: str, form: str | None, headers: Mapping[bytes, str], receive: Receive
) -> ExportResponse:
    caller = await _caller(scope)
    if scope["path"].strip("/").count("/") > 1:
        raise ExportRefused(404, f"There is nothing at this address; send them to /v1/{signal}.")
    if scope["method"] != "POST":
        raise ExportRefused(405, "Send spans by POST.", allow=b"POST")
    if form is None:
        raise ExportRefused(415, f"Send {PROTOBUF} or {JSON}: this address accepts OTLP in these formats.")
    line = _lines.setdefault(asyncio.get_running_loop(), _Line())
    sender = str(_sender_of(caller))
    with line.held(sender):
        body = await _body(headers, receive)
        export = _Export(_READERS[signal, form], body, headers, caller)
        del body  # let go of once it is read
        try:
            taken, outcome = await _in_turn(line, sender, _taken(export, most=SMALL))
        except LargeError:
            taken, outcome = await _in_turn(line.large, sender, _taken(export, most=None))
    if outcome.written:
        announce_group({}, last=outcome.written[-1])
    refused = sum(taken.refused.values())
    count_spans(kept=taken.count - outcome.let_go - outcome.unread, let_go=outcome.let_go, refused=refused)
    return ExportResponse(200, bodies.success(signal, form, refused=refused, message=taken.message))


async def _caller(scope: Scope) -> Caller:
    """Who sends. A key that is limited to agents and models takes traces only where its scope names them too."""
    caller = await authentication.caller_of(scope["headers"])
    if isinstance(caller, Refusal):
        again = None if caller.retry_after is None else RETRY_SECONDS
        raise ExportRefused(caller.status, caller.message, again)
    if caller.scope and TRACES not in caller.scope:
        raise ExportRefused(403, f"The key “{caller.name}” may not send traces: its scope does not include “{TRACES}”.")
    return caller


async def _in_turn(line: FairQueue, sender: str, work: Coroutine[Any, Any, T]) -> T:
    try:
        async with line.place(sender):
            return await work
    except FullError:
        work.close()
        raise ExportRefused(
            503, "Earlier requests are still in progress. Send this again later.", RETRY_SECONDS
        ) from None


@dataclass(slots=True)
class _Export:
    """A request's body, which is read once however often it is tried to store it."""

    read: Callable[[bytes, str], ParsedBody]
    body: bytes
    headers: Mapping[bytes, str]
    caller: Caller
    _taken: ParsedBody | None = None

    @property
    def coding(self) -> str:
        return self.headers.get(b"content-encoding", "").strip().casefold()

    def taken(self) -> ParsedBody:
        """What it holds. Its bytes are let go of."""
        if self._taken is None:
            self._taken = self.read(unpacked(self.body, self.coding), str(self.caller.project))
            self.body = b""
        return self._taken

    def stored(self, most: int | None) -> tuple[ParsedBody, Outcome]:
        """Store it. Raises `LargeError` where that would be more than `most` pieces."""
        taken, caller = self.taken(), self.caller
        sender = _sender_of(caller)
        with judging_budget(), asking_as(sender):
            return taken, ingest(project_id=caller.project, taken=taken, by=caller.user_id, sender=sender, most=most)


async def _taken(export: _Export, *, most: int | None) -> tuple[ParsedBody, Outcome]:
    """What a body holds, once it is stored. Raises `LargeError` where that would be more than `most` pieces."""
    try:
        return await in_database(partial(export.stored, most))
    except KeyError as error:
        raise ExportRefused(
            415, f"The body's encoding “{export.coding[:40]}” is not supported: send {KNOWN}, or none."
        ) from error
    except TooLargeError as error:
        raise ExportRefused(413, str(error)) from error
    except (PackedError, BodyError) as error:
        raise ExportRefused(400, str(error)) from error
    except DataError as error:
        log.exception("ingest_refused_by_database")
        raise ExportRefused(400, "The database does not accept a value in it; nothing was stored.") from error
    except JudgesBusy as error:
        raise ExportRefused(503, BUSY, RETRY_SECONDS) from error
    except AWAY as error:
        if was_too_slow(error):
            raise ExportRefused(503, TOO_SLOW, RETRY_SECONDS) from error
        raise ExportRefused(503, "The database is not available; send this again.", RETRY_SECONDS) from error


async def _body(headers: Mapping[bytes, str], receive: Receive) -> bytes:
    told = headers.get(b"content-length", "")
    if told.isdecimal() and int(told[:12]) > MOST_PACKED:
        raise _too_large()
    pieces, size = [], 0
    try:
        async with asyncio.timeout(MOST_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _GoneError
                size += len(message.get("body", b""))
                if size > MOST_PACKED:
                    raise _too_large()
                pieces.append(message.get("body", b""))
                if not message.get("more_body"):
                    return b"".join(pieces)
    except TimeoutError as error:
        raise ExportRefused(408, f"The body did not arrive within {seconds(MOST_SECONDS)}.", RETRY_SECONDS) from error


def _too_large() -> ExportRefused:
    return ExportRefused(413, f"The body is larger than {MOST_PACKED // 2**20} MiB. Send fewer spans at once.")


def _sender_of(caller: Caller) -> UUID:
    """A key, or the user of a token."""
    return caller.key_id or UUID(int=caller.user_id or 0)


def _form(headers: Mapping[bytes, str]) -> str | None:
    """The body's form, which is the answer's too."""
    told = headers.get(b"content-type", "").partition(";")[0].strip().casefold()
    return told if told in {PROTOBUF, JSON} else None


async def _send(answer: ExportResponse, form: str, send: Send) -> None:
    headers = [
        (b"content-type", form.encode()),
        (b"content-length", b"%d" % len(answer.body)),
        *answer.headers,
    ]
    if answer.again is not None:
        headers.append((b"retry-after", b"%d" % answer.again))
    if answer.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="whystop"'))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
