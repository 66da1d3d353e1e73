"""One call to the upstream model: sends the request, records and reads the response as it arrives."""

import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from agentcore.errors import ProviderError
from agentcore.messages import Delta
from agentcore.providers.base import Provider
from dashboard.agents.models import Connection
from dashboard.gateway.recording.pending_turn import NotStoredError
from dashboard.gateway.recording.recorder import Recorder
from dashboard.live.provider_auth import headers_for
from dashboard.live.response_reader import CallResult, ResponseReader
from dashboard.live.transport import Head, Transport, TransportError
from dashboard.platform.fields import storable_text
from dashboard.turns.recorder import CallRow

MUCH_BYTES = 256 * 1024  #: of an answer, after which a database that is behind is waited for

#: Told of the bytes that came, and of what can be shown of them.
Took = Callable[[bytes, list[Delta]], Awaitable[None]]


@dataclass(slots=True)
class UpstreamCall:
    """One call. `run` is awaited once; where it is cancelled, `reading` has what had arrived."""

    turn_id: UUID
    call: CallRow
    provider: Provider
    connection: Connection
    transport: Transport
    recorder: Recorder
    seconds: float | None
    handed_up: Mapping[str, str]  #: headers of the client's that go along
    reading: ResponseReader = field(init=False)
    _pieces: int = 0
    _size: int = 0  #: since the recorder was asked whether it has room

    def __post_init__(self) -> None:
        connection = self.connection
        self.reading = ResponseReader(self.call, self.provider, connection.name, connection.context_window)

    async def run(self, took: Took) -> CallResult:
        """Make the call; how it ended."""
        reading, body = self.reading, self.call.text.encode()
        reading.begun = time.monotonic()
        headers = headers_for(self.call, body, self.provider, self.connection)
        if isinstance(headers, ProviderError):
            return CallResult(error=headers)
        try:
            posted = self.transport.post(
                self.call.url,
                headers={**headers, **self.handed_up},
                body=body,
                seconds=self.seconds,
                ended=lambda: reading.ended,
            )
            async with contextlib.aclosing(posted) as parts:  # type: ignore[type-var]
                async for part in parts:
                    if isinstance(part, Head):
                        reading.head = part
                        continue
                    deltas = reading.take(part)
                    await self._keep(part, deltas)
                    await took(part, deltas)
        except TransportError as error:
            return reading.broken_off(error)
        return reading.whole()

    async def _keep(self, part: bytes, deltas: list[Delta]) -> None:
        """Tell the recorder what came."""
        self._pieces += 1
        text = storable_text("".join([delta.text for delta in deltas]))
        self.recorder.piece(self.turn_id, self.call.index, self._pieces, part, text, datetime.now(UTC))
        self._size += len(part)
        if self._size > MUCH_BYTES:
            self._size = 0
            with contextlib.suppress(NotStoredError):  # what is done about that is decided at the end
                await self.recorder.room(self.turn_id)
