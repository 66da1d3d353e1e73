"""Mixed traffic: callers of the gateway, of the API and of pages, exporters of traces, and watchers of sockets."""

import asyncio
import contextlib
import gzip
import itertools
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field

import aiohttp
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from dashboard.bench.ingest.spans import Traces
from dashboard.client.turn import ENDED

WHOLE, CUT = "soak-whole", "soak-cut"  #: agents whose answers end by themselves, and after continuations
PATIENCE = aiohttp.ClientTimeout(60)
PAGES = ("/", "/runs/{turn}", "/turns/{turn}", "/gateway/", "/policies/ledger", "/inbox", "/backtests/limits")
TRACES = 5  #: of an export
WATCHED_SECONDS = 5.0  #: for which a socket is open
POLL_SECONDS = 0.5  #: between questions about a turn
_ASKED = {"messages": [{"role": "user", "content": "Why did this agent stop?"}]}


class FailedError(Exception):
    """An answer that is not what it should be."""


@dataclass(slots=True)
class Heard:
    """What came of one kind of requests. `took`: when each began, on the monotonic clock, and its seconds."""

    failed: int = 0
    why: str = ""  #: of the first that failed
    took: list[tuple[float, float]] = field(default_factory=list)

    def p(self, share: float, since: float = 0.0, until: float = float("inf")) -> float:
        """Milliseconds within which this share of the requests was answered, of those that began in this span."""
        ordered = sorted(took for began, took in self.took if since <= began < until)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@dataclass(slots=True)
class Caller:
    """Who asks: with an API token, and a key of the gateway where it is asked."""

    session: aiohttp.ClientSession
    key: str
    turn: str = ""  #: the newest turn that is known
    numbers: Iterator[int] = field(default_factory=itertools.count)
    traces: Traces = field(default_factory=lambda: Traces(seed=1))

    async def post(self, path: str, body: Mapping[str, object]) -> bytes:
        return await self.send(path, json.dumps(body).encode(), "application/json")

    async def send(self, path: str, body: bytes, kind: str, **headers: str) -> bytes:
        bearer = {} if path.startswith("/api/") else {"Authorization": f"Bearer {self.key}"}
        given = {"Content-Type": kind, **bearer, **headers}
        async with self.session.post(path, data=body, headers=given) as answer:
            return await _read(answer)

    async def get(self, path: str) -> bytes:
        async with self.session.get(path) as answer:
            return await _read(answer)


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    said = await answer.read()
    if answer.status not in (200, 201):
        raise FailedError(f"{answer.status} {answer.url.path}: {said[:200].decode(errors='replace')}")
    return said


async def _whole(caller: Caller) -> None:
    _finished(await caller.post("/v1/chat/completions", {"model": WHOLE, **_ASKED}))


async def _cut(caller: Caller) -> None:
    _finished(await caller.post("/v1/chat/completions", {"model": CUT, **_ASKED}))


def _finished(said: bytes) -> None:
    choice = json.loads(said)["choices"][0]
    if choice["finish_reason"] != "stop":
        raise FailedError(f"A call ended with {choice['finish_reason']}.")


async def _streamed(caller: Caller) -> None:
    said = await caller.post("/v1/chat/completions", {"model": WHOLE, "stream": True, **_ASKED})
    if not said.endswith(b"data: [DONE]\n\n") or b'"error"' in said:
        raise FailedError(f"A stream ended with {said[-200:].decode(errors='replace')}")


async def _turn(caller: Caller) -> None:
    """One that the worker drives, from its start to its end."""
    asked = {"agent": CUT, "input": f"Number {next(caller.numbers)}"}
    caller.turn = str(json.loads(await caller.post("/api/v1/turns", asked))["id"])
    told: dict[str, object] = {"status": "queued"}
    while told["status"] not in ENDED:
        await asyncio.sleep(POLL_SECONDS)  # as a program asks that has no stream open
        told = json.loads(await caller.get(f"/api/v1/turns/{caller.turn}"))
    if told["status"] != "completed":
        raise FailedError(f"A turn ended as {told['status']}: {told['terminal_reason']}")


async def _page(caller: Caller) -> None:
    page = PAGES[next(caller.numbers) % len(PAGES)]
    await caller.get(page.format(turn=caller.turn) if caller.turn else "/")


async def _export(caller: Caller) -> None:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for _ in range(TRACES):
        caller.traces.agent(scope)
    body = gzip.compress(request.SerializeToString(), 1)
    await caller.send("/v1/traces", body, "application/x-protobuf", **{"Content-Encoding": "gzip"})


async def _socket(caller: Caller) -> None:
    """The timeline's, and that of a turn, by turns; the server closes the latter where the turn has ended."""
    of_turn = caller.turn and next(caller.numbers) % 2
    async with caller.session.ws_connect(f"/ws/turns/{caller.turn}/" if of_turn else "/ws/timeline/") as socket:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WATCHED_SECONDS):
                async for message in socket:
                    if message.type == aiohttp.WSMsgType.ERROR:
                        raise FailedError(f"A socket ended: {message.data}")
                if not of_turn or socket.close_code != aiohttp.WSCloseCode.OK:
                    raise FailedError(f"A socket was closed with {socket.close_code}")


#: Kind → what it does once, how many callers repeat it, and how long each waits before the next, in seconds.
KINDS: Mapping[str, tuple[Callable[[Caller], Awaitable[None]], int, float]] = {
    "calls, whole": (_whole, 2, 0.5),
    "calls, streamed": (_streamed, 2, 0.5),
    "calls, continued": (_cut, 2, 1.0),
    "live turns": (_turn, 2, 1.0),
    "pages": (_page, 2, 0.5),
    "exports of traces": (_export, 1, 2.0),
    "sockets": (_socket, 4, 0.5),
}


async def traffic(port: int, token: str, key: str, until: float, heard: Mapping[str, Heard]) -> None:
    """All callers of all kinds, until the monotonic clock says `until`; what comes of it stands in `heard`."""
    base, bearer = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(base, headers=bearer, timeout=PATIENCE) as session:
        caller = Caller(session, key)
        await asyncio.gather(
            *(_repeat(name, caller, until, heard[name]) for name, (_, many, _) in KINDS.items() for _ in range(many))
        )


async def _repeat(name: str, caller: Caller, until: float, heard: Heard) -> None:
    work, _, pause = KINDS[name]
    while (began := time.monotonic()) < until:
        try:
            await work(caller)
        except (aiohttp.ClientError, TimeoutError, FailedError) as error:
            heard.failed += 1
            heard.why = heard.why or f"{type(error).__name__}: {error}"
        heard.took.append((began, time.monotonic() - began))
        await asyncio.sleep(pause)
