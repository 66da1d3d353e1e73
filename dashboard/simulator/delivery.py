"""An answer on its way: one token after another at the model's pace, until it ends or the caller goes."""

import asyncio
from collections.abc import Iterator

from dashboard.simulator.dialects.base import Wire
from dashboard.simulator.http_exchange import ConnectionEndedError, Exchange
from dashboard.simulator.script_player import ConnectionDropped, Ending, Finished, Piece, Stalled, Token

_LARGEST_BATCH = 64  #: chunks sent at once by an answer that is behind its pace


class Delivery:
    """Brings one answer to its caller. `pace` is in seconds per token; `gone` is done when the caller has left."""

    def __init__(self, exchange: Exchange, wire: Wire, *, pace: float, gone: asyncio.Future[None]) -> None:
        self._exchange = exchange
        self._wire = wire
        self._pace = pace
        self._gone = gone
        self._begun = asyncio.get_running_loop().time()

    async def stream(self, pieces: Iterator[Piece], *, closes: bool = False) -> None:
        """The answer piece by piece. `closes`: keep-alive is promised, and the connection closed at its next use."""
        headers = {"content-type": self._wire.stream_type, "cache-control": "no-cache"}
        if closes:
            headers |= {"connection": "keep-alive", "keep-alive": "timeout=60"}
            self._exchange.spent()
        await self._exchange.begin(200, headers)
        batch = [self._wire.opening()]
        for number, piece in enumerate(pieces, start=1):
            # Chunks that are due already go together, so that a busy server falls behind its pace and not apart.
            if self._early(number) > 0 or len(batch) >= _LARGEST_BATCH:
                await self._exchange.write(b"".join(batch))
                batch.clear()
                await self._wait(self._early(number))
            match piece:
                case Finished():
                    batch.append(self._wire.closing(piece))
                    await self._exchange.write(b"".join(batch), more=False)
                case ConnectionDropped():
                    await self._exchange.write(b"".join(batch))
                    raise ConnectionEndedError
                case Stalled():
                    await self._exchange.write(b"".join(batch))
                    await self._fall_silent()
                case _:
                    batch.append(self._wire.token(piece))

    async def whole(self, pieces: Iterator[Piece], *, withheld_at: Ending | None) -> None:
        """The answer as one body. Its text is left out if it reaches the ending `withheld_at`."""
        tokens: list[Token] = []
        for piece in pieces:
            match piece:
                case Finished(reason):
                    await self._wait(self._early(len(tokens)))
                    body = self._wire.whole(tokens, piece, withheld=reason == withheld_at)
                    await self._begin_whole(body)
                    await self._exchange.write(body, more=False)
                case ConnectionDropped():
                    await self._wait(self._early(len(tokens)))
                    body = self._wire.whole(tokens, Finished(Ending.END, len(tokens)), withheld=False)
                    await self._begin_whole(body)
                    await self._exchange.write(body[: len(body) // 2])
                    raise ConnectionEndedError
                case Stalled():
                    await self._fall_silent()
                case _:
                    tokens.append(piece)

    async def _fall_silent(self) -> None:
        """Say nothing more until the caller leaves."""
        await asyncio.wait({self._gone})
        raise ConnectionEndedError

    async def _begin_whole(self, body: bytes) -> None:
        await self._exchange.begin(200, {"content-type": "application/json", "content-length": str(len(body))})

    def _early(self, number: int) -> float:
        """Seconds until token `number` is due."""
        return self._begun + number * self._pace - asyncio.get_running_loop().time()

    async def _wait(self, seconds: float) -> None:
        await asyncio.wait({self._gone}, timeout=max(0.0, seconds))
        if self._gone.done():
            raise ConnectionEndedError
