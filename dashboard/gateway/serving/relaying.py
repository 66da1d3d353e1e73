"""Requests that are no turns: they go to their connection and come back as they are, piece by piece, not judged.

Nothing of them is kept, so memory is bounded whatever their answers are.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentcore.errors import ErrorType, ProviderError
from dashboard.gateway.routing import Route
from dashboard.gateway.serving.failing import STOPPING, tell_instead
from dashboard.gateway.serving.outgoing import JSON, Outgoing
from dashboard.gateway.serving.passing import OURS, handed_on
from dashboard.gateway.serving.receiving import Receive, Watch
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.reasons import fault_of
from dashboard.live.authorizing import key_to
from dashboard.live.reading import REDIRECTS
from dashboard.live.transport import Head, Transport, TransportError


@dataclass(slots=True)
class Relay:
    """One request to `path` below the address of a connection. `headers`: the caller's that go along."""

    route: Route
    path: str
    body: bytes
    headers: Mapping[str, str]
    transport: Transport
    outgoing: Outgoing
    _gone: bool = field(default=False, init=False)

    async def serve(self, receive: Receive) -> None:
        """Ask, and hand on what comes, until it ends or the client hangs up."""
        working = asyncio.current_task()
        assert working is not None, "served in a task"
        watch = Watch(receive, lambda: self._left(working))
        try:
            await self._ask()
        except asyncio.CancelledError:
            if not self._gone:
                with contextlib.suppress(Exception):
                    await tell_instead(self.outgoing, STOPPING)
                raise
            working.uncancel()
        finally:
            watch.stop()

    def _left(self, working: "asyncio.Task[object]") -> None:
        if not self.outgoing.ended:
            self._gone = True
            working.cancel()

    async def _ask(self) -> None:
        connection, provider = self.route.connection, self.route.provider
        url = connection.base_url.rstrip("/") + self.path
        key = key_to(url, connection)
        if isinstance(key, ProviderError):
            await self.outgoing.fault(fault_of(key))
            return
        headers = {**provider.headers(key), **self.headers}
        posted = self.transport.post(url, headers=headers, body=self.body, seconds=None)
        try:
            async with contextlib.aclosing(posted) as parts:  # type: ignore[type-var]
                async for part in parts:
                    if not await self._hand_on(part):
                        return
        except TransportError as error:
            kind = "timeout" if error.timed_out else "connection"
            await tell_instead(self.outgoing, fault_of(ProviderError(ErrorType.MODEL, kind, str(error))))
            return
        await self.outgoing.close()

    async def _hand_on(self, part: Head | bytes) -> bool:
        """Whether there is more to hand on: an error that is about our key, or our address, is told in our words."""
        if isinstance(part, bytes):
            await self.outgoing.more(part)
            return True
        if part.status in OURS:
            await self.outgoing.fault(_refused(part.status))
            return False
        kind = part.headers.get("content-type", JSON)
        await self.outgoing.begin(part.status, handed_on(part, self.outgoing.door), content_type=kind)
        return True


def _refused(status: int) -> Fault:
    kind = "redirect" if status in REDIRECTS else "auth"
    return fault_of(ProviderError(ErrorType.MODEL, kind, "", status=status, retryable=False))
