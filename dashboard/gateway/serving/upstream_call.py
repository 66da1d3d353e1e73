"""One call to the upstream model: sends the request, records and reads the response as it arrives."""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from agentcore.messages import Delta
from agentcore.providers.base import Provider
from dashboard.agents.models import Connection
from dashboard.gateway.recording.pending_turn import NotStoredError
from dashboard.gateway.recording.recorder import Recorder
from dashboard.live.model_call import Took, answer_of
from dashboard.live.response_reader import CallResult, ResponseReader
from dashboard.live.transport import Transport
from dashboard.platform.fields import storable_text
from dashboard.turns.recorder import CallRow

MUCH_BYTES = 256 * 1024  #: of an answer, after which a database that is behind is waited for


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
        """Make the call; how it ended.

        It is a task of its own: each chunk resumes all coroutines of the task that waits for it, and the request's are
        two dozen.
        """

        async def kept(part: bytes, deltas: list[Delta]) -> None:
            self._keep(part, deltas)
            if self._size > MUCH_BYTES:
                await self._room()
            await took(part, deltas)

        answering = answer_of(
            self.reading,
            kept,
            body=self.call.text.encode(),
            connection=self.connection,
            transport=self.transport,
            seconds=self.seconds,
            extra_headers=self.handed_up,
        )
        return await asyncio.create_task(answering)

    def _keep(self, part: bytes, deltas: list[Delta]) -> None:
        """Tell the recorder what came."""
        self._pieces += 1
        text = storable_text("".join([delta.text for delta in deltas]))
        self.recorder.piece(self.turn_id, self.call.index, self._pieces, part, text, datetime.now(UTC))
        self._size += len(part)

    async def _room(self) -> None:
        """Wait for the recorder to have room for more."""
        self._size = 0
        with contextlib.suppress(NotStoredError):  # what is done about that is decided at the end
            await self.recorder.room(self.turn_id)
