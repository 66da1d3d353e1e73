"""The one place that talks to providers over HTTP. Bytes in, bytes out; what they mean is the codecs' business."""

import asyncio
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

CONNECT_TIMEOUT = 10.0  #: seconds
SILENCE_TIMEOUT = 120.0  #: seconds without a byte before a call has timed out
MAX_ANSWER_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
KEPT_HEADERS = frozenset({"content-type", "date", "retry-after", "retry-after-ms", "x-should-retry", "x-request-id"})


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer. Header names are lower case."""

    status: int
    headers: dict[str, str]

    @property
    def kept(self) -> dict[str, str]:
        """The headers worth storing."""
        rates = ("x-ratelimit-", "anthropic-ratelimit-")
        return {k: v for k, v in self.headers.items() if k in KEPT_HEADERS or k.startswith(rates)}


class TransportError(Exception):
    """A call that got no whole answer from the network; `timed_out` where that is why."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class Transport:
    """A pool of connections, one per event loop. TLS is verified; a proxy is taken from the environment."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=SILENCE_TIMEOUT)
        connector = aiohttp.TCPConnector(limit=0, limit_per_host=0)
        self._session = aiohttp.ClientSession(timeout=timeout, connector=connector, trust_env=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None, "entered before it is left"
        await self._session.close()

    async def post(
        self, url: str, *, headers: dict[str, str], body: bytes, seconds: float | None
    ) -> AsyncIterator[Head | bytes]:
        """Send a request; yields its `Head`, then the body's bytes as they come. Raises `TransportError`."""
        assert self._session is not None, "used between enter and exit"
        try:
            async with asyncio.timeout(seconds):
                data = io.BytesIO(body)
                # A path that is percent-encoded already goes out as it is: what is signed must be what is sent.
                target = URL(url, encoded="%" in url)
                async with self._session.post(target, data=data, headers=headers, allow_redirects=False) as answer:
                    yield Head(answer.status, {name.lower(): value for name, value in answer.headers.items()})
                    received = 0
                    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
                        received += len(chunk)
                        if received > MAX_ANSWER_BYTES:
                            raise TransportError(f"The answer is larger than {MAX_ANSWER_BYTES // 2**20} MiB.")
                        yield chunk
        except TimeoutError as error:
            raise TransportError(f"The provider at {_host(url)} did not answer in time.", timed_out=True) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise TransportError(f"The connection to {_host(url)} failed: {_why(error)}.") from error


def _host(url: str) -> str:
    """The address without path or query, for messages."""
    return "/".join(url.split("/", 3)[:3])


def _why(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "its name is not known"
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ConnectionRefusedError):
            return "it refused the connection"
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | ConnectionResetError():
            return "it was closed before the answer was whole"
        case _:
            return str(error).rstrip(".") or type(error).__name__
