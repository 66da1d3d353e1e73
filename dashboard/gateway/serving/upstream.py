"""One call of the model for the gateway: the request goes up, bytes come down, are recorded and read in passing."""

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
from dashboard.gateway.recording.recorder import Recorder
from dashboard.gateway.recording.tracks import NotStoredError
from dashboard.live.authorizing import headers_for
from dashboard.live.reading import Ending, Reading
from dashboard.live.transport import Head, Transport, TransportError
from dashboard.turns.fields import storable_text
from dashboard.turns.recorder import Call

MUCH_BYTES = 256 * 1024  #: of an answer, after which a database that is behind is waited for

#: Told of the bytes that came, and of what can be shown of them.
Took = Callable[[bytes, list[Delta]], Awaitable[None]]


@dataclass(slots=True)
class Upstream:
    """One call. `run` is awaited once; where it is cancelled, `reading` has what had arrived."""

    turn_id: UUID
    call: Call
    provider: Provider
    connection: Connection
    transport: Transport
    recorder: Recorder
    seconds: float | None
    handed_up: Mapping[str, str]  #: headers of the client's that go along
    reading: Reading = field(init=False)
    _pieces: int = 0
    _size: int = 0  #: since the recorder was asked whether it has room

    def __post_init__(self) -> None:
        connection = self.connection
        self.reading = Reading(self.call, self.provider, connection.name, connection.context_window)

    async def run(self, took: Took) -> Ending:
        """Make the call; how it ended."""
        reading, body = self.reading, self.call.text.encode()
        reading.begun = time.monotonic()
        headers = headers_for(self.call, body, self.provider, self.connection)
        if isinstance(headers, ProviderError):
            return Ending(error=headers)
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
