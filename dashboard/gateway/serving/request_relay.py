"""Relays requests that are not turns (embeddings and the like) to their connection, unjudged.

Nothing of them is kept but what they used, so memory is bounded whatever their answers are.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from agentcore.errors import ErrorType, ProviderError
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.routing import Route
from dashboard.gateway.serving.failure_response import KEY_ENDED, STOPPING, send_failure
from dashboard.gateway.serving.file_requests import FileRequest
from dashboard.gateway.serving.passthrough import BEYOND, OURS, passed_through
from dashboard.gateway.serving.request_body import DisconnectWatch, Receive
from dashboard.gateway.serving.response_writer import JSON, ResponseWriter
from dashboard.gateway.serving.uploads import Uploaded
from dashboard.gateway.serving.usage import UsageReader
from dashboard.gateway.wire.faults import Fault, unsupported
from dashboard.gateway.wire.finish_reasons import fault_of
from dashboard.gateway.wire.relay_routes import RelayRequest
from dashboard.live.provider_auth import key_to
from dashboard.live.response_reader import REDIRECTS
from dashboard.live.transport import Head, Transport, TransportError
from dashboard.metrics.calls import count_relayed

log = structlog.get_logger(__name__)

Relayed = RelayRequest | Uploaded | FileRequest


def refused(relayed: Relayed, route: Route) -> Fault | None:
    """Why a request cannot go there."""
    if route.provider.name in relayed.dialects:
        return None
    who = f"the connection “{route.connection.name}” speaks {route.provider.name}"
    return unsupported("model", f"{who}, which has no address {relayed.path}")


@dataclass(slots=True)
class Relay:
    """One request. `headers`: the caller's that go along."""

    relayed: Relayed
    route: Route
    headers: Mapping[str, str]
    caller: Caller
    transport: Transport
    outgoing: ResponseWriter
    _spending: UsageReader = field(default_factory=UsageReader, init=False)
    _streams: bool = field(default=False, init=False)  #: whether the answer is events
    _gone: bool = field(default=False, init=False)
    _key_ended: bool = field(default=False, init=False)

    async def serve(self, receive: Receive) -> None:
        """Ask, and hand on what comes, until it ends or the client hangs up."""
        working = asyncio.current_task()
        assert working is not None, "served in a task"
        watch = DisconnectWatch(receive, lambda: self._left(working))
        try:
            await self._ask()
        except asyncio.CancelledError:
            # What is no stream of events and has begun is left without an end, so that the client knows it for cut.
            if not self._gone and (self._streams or not self.outgoing.begun):
                with contextlib.suppress(Exception):
                    await send_failure(self.outgoing, KEY_ENDED if self._key_ended else STOPPING)
            if not self._gone and not self._key_ended:
                raise
            working.uncancel()
        finally:
            watch.stop()
            self._count()

    def _left(self, working: "asyncio.Task[object]") -> None:
        if not self.outgoing.ended:
            self._gone = True
            self._end(working)

    def key_ended(self, working: "asyncio.Task[object]") -> None:
        """Ends it, for the caller's key opens the door no more."""
        if not self.outgoing.ended and not self._key_ended:
            self._key_ended = True
            self._end(working)

    def _end(self, working: "asyncio.Task[object]") -> None:
        # What was asked before costs what it costs, though nobody has waited for its answer.
        self._spending.answered = self._spending.answered or not self.outgoing.begun
        working.cancel()

    async def _ask(self) -> None:
        route = self.route
        url = route.connection.base_url.rstrip("/") + self.relayed.path_for(route.model)
        key = key_to(url, route.connection)
        if isinstance(key, ProviderError):
            await self.outgoing.fault(fault_of(key))
            return
        own = route.provider.headers(key).items()
        headers = {name: value for name, value in own if name.lower() != "content-type"}
        headers |= {**self.headers, "Content-Type": self.relayed.content_type}
        headers = {name: value for name, value in headers.items() if value}
        body = self.relayed.wire(route.model, route.system_prompt)
        # How many tokens a file is, nobody can tell by its bytes.
        self._spending.asked = len(body) if isinstance(body, bytes) else 0
        posted = self.transport.post(url, headers=headers, body=body, seconds=None, method=self.relayed.method)
        try:
            async with contextlib.aclosing(posted) as parts:  # type: ignore[type-var]
                async for part in parts:
                    if not await self._hand_on(part):
                        return
        except TransportError as error:
            await self._broke_off(error)
            return
        await self.outgoing.close()

    async def _broke_off(self, error: TransportError) -> None:
        """An error in place of the answer, or as the last event of a stream. A body of another kind has no place for
        one: it is not closed, so that the server ends its connection and the client knows it for cut."""
        if self.outgoing.begun and not self._streams:
            log.warning("gateway_relayed_answer_cut", path=self.relayed.path, why=str(error))
            return
        kind = "timeout" if error.timed_out else "connection"
        await send_failure(self.outgoing, fault_of(ProviderError(ErrorType.MODEL, kind, str(error))))

    async def _hand_on(self, part: Head | bytes) -> bool:
        """Whether there is more to hand on: an error that is about our key, or our address, is told in our words."""
        if isinstance(part, bytes):
            self._spending.take(part)
            await self.outgoing.more(part)
            return True
        if part.status in OURS or part.status >= BEYOND:
            await self.outgoing.fault(_not_the_clients(part.status))
            return False
        self._spending.answered = part.status < 400
        kind = part.headers.get("content-type", JSON)
        self._streams = "event-stream" in kind.lower()
        await self.outgoing.begin(part.status, passed_through(part, self.outgoing.door), content_type=kind)
        return True

    def _count(self) -> None:
        """What it used counts for its caller; that it was, in the metrics."""
        route = self.route
        used, address = self._spending.used(), route.connection.base_url
        if self.relayed.metered:
            self.caller.charge(used, provider=route.provider.name, model=route.model, address=address)
        count_relayed(route.provider.name, route.model, self.relayed.label, self.outgoing.status)


def _not_the_clients(status: int) -> Fault:
    kind = "redirect" if status in REDIRECTS else "server" if status >= BEYOND else "auth"
    return fault_of(ProviderError(ErrorType.MODEL, kind, "The provider failed.", status=status, retryable=False))
