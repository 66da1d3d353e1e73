"""The one place that talks to providers over HTTP. Bytes in, bytes out; what they mean is the codecs' business."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from types import TracebackType
from typing import Any, Self

import aiohttp
from django.conf import settings
from yarl import URL

from agentcore.number_format import seconds
from dashboard.live.body_reader import BodyReader, FramingWatch
from dashboard.live.connection_pool import ConnectionPool, Refused, asked_again
from dashboard.platform.egress.address_check import refusal_by_proxy
from dashboard.platform.egress.hidden_keys import KeyHider, keys_in, unquoted
from dashboard.platform.egress.proxies import proxy_for

CONNECT_TIMEOUT = 10.0  #: seconds
MAX_ANSWER_BYTES = 64 * 1024 * 1024
#: Of an answer that is sent compressed although nobody asked for that, which costs its sender next to nothing;
MAX_UNPACKED_BYTES = 512 * 1024
MAX_RATIO = 4  #: or, where that is more, so many times the bytes that were sent
SLOWEST_UPLOAD = 256 * 1024  #: bytes a second; a request that is sent more slowly is given up as silence is
LARGE_BYTES = 512 * 1024  #: of a request, from which it is sent in pieces
_NO_KIND = ("Content-Type",)  #: which aiohttp would tell of a body that is not there
UNCOMPRESSED = {"Accept-Encoding": "identity"}
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


@dataclass(frozen=True, slots=True)
class Pieces:
    """A body that is read while it is sent. `read` begins anew each time; it gives `length` bytes."""

    length: int
    read: Callable[[], AsyncIterator[bytes]]

    def __len__(self) -> int:
        return self.length


class TransportError(Exception):
    """A call that got no whole answer from the network, in a sentence that names the host and why.

    `timed_out`: the time for the call, or for silence within it, ran out. `refused`: the rules of this installation
    do not allow it, so that it is of no use to try again. `too_large`: the answer is larger than one may be, and would
    be paid for again. `rest`: what follows “The provider” in the sentence; other servers are called so in `of_server`.
    """

    def __init__(
        self, message: str, *, rest: str = "", timed_out: bool = False, refused: bool = False, too_large: bool = False
    ) -> None:
        super().__init__(message or f"The provider {rest}")
        self.of_server = f"The server {rest}" if rest else message
        self.timed_out = timed_out
        self.refused = refused
        self.too_large = too_large


class Transport:
    """A pool of connections, one per event loop; entered once, used by many calls at a time.

    Connections are kept and used again. TLS is verified against the system's authorities; a proxy is taken from the
    environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`), but not for this very machine; redirects are not followed.
    Only addresses that `WHYSTOP_EGRESS` allows are connected to, and `~/.netrc` is never read.
    A call without a byte for `WHYSTOP_SILENCE_SECONDS`, before its answer or in the middle of it, has timed out.
    """

    def __init__(self) -> None:
        self._silence: float = settings.SILENCE_SECONDS
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=self._silence)
        connector = ConnectionPool(limit=0, limit_per_host=0)
        # A provider's cookies are nobody's business, and to keep a jar of them takes time with each call.
        jar = aiohttp.DummyCookieJar()
        # With `trust_env` aiohttp would send what `~/.netrc` holds; the proxy is looked up by ourselves.
        self._session = aiohttp.ClientSession(
            timeout=timeout, connector=connector, cookie_jar=jar, trust_env=False, headers=UNCOMPRESSED
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None, "entered before it is left"
        await self._session.close()

    async def first_bytes(
        self, url: str, *, headers: dict[str, str], body: bytes, seconds: float, most: int
    ) -> tuple["Head", bytes]:
        """Send a request; the head of its answer and at most `most` bytes of it. Raises `TransportError`."""
        head, answer = Head(0, {}), b""
        async with contextlib.aclosing(self.post(url, headers=headers, body=body, seconds=seconds)) as parts:  # type: ignore[type-var]
            async for part in parts:
                if isinstance(part, Head):
                    head = part
                    continue
                answer += part[: most - len(answer)]
                if len(answer) == most:
                    break
        return head, answer

    async def post(
        self,
        url: str,
        *,
        headers: dict[str, str],
        body: bytes | Pieces,
        seconds: float | None,
        ended: Callable[[], bool] = lambda: False,
        method: str = "POST",
    ) -> AsyncIterator[Head | bytes]:
        """Send a request; yields its `Head`, then the body's bytes as they come. A request whose used connection turns
        out to be closed, with no byte of an answer, is sent again once, on a fresh one.

        `seconds`: for the whole call; None: no limit but that on silence. `ended`: whether what has come is a whole
        answer, behind which not every server closes. Keys that were sent are hidden in what comes. Raises
        `TransportError`.
        """
        hider, failure = KeyHider(keys_in(headers)), None
        try:
            async with asyncio.timeout(seconds):
                async with await self._answer(method, url, headers, body) as answer:
                    yield Head(
                        answer.status, {name.lower(): hider.text(value) for name, value in answer.headers.items()}
                    )
                    body_reader = BodyReader(answer, ended)
                    with FramingWatch(answer, self._silence):
                        while chunk := await body_reader.read():
                            _check_size(body_reader.received, answer)
                            if piece := hider.piece(chunk):
                                yield piece
        except TransportError as error:
            failure = error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            failure = self._failed(url, error, hider)
            failure.__cause__ = error
        if held := hider.end():
            yield held
        if failure is not None:
            raise failure

    def _failed(self, url: str, error: Exception, hider: KeyHider) -> TransportError:
        if isinstance(error, aiohttp.ServerTimeoutError):
            return TransportError("", rest=self._silent(url, error), timed_out=True)
        if isinstance(error, TimeoutError):
            return TransportError("", rest=f"at {_host(url)} did not answer in time.", timed_out=True)
        if isinstance(error, Refused):
            return _refused(url, str(error))
        return TransportError(f"The connection to {_host(url)} failed: {hider.text(_why(error))}.")

    def _silent(self, url: str, error: aiohttp.ServerTimeoutError | None = None) -> str:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return f"at {_host(url)} could not be reached within {seconds(CONNECT_TIMEOUT)}."
        return f"at {_host(url)} sent nothing for {seconds(self._silence)} (WHYSTOP_SILENCE_SECONDS)."

    async def _answer(
        self, method: str, url: str, headers: dict[str, str], body: bytes | Pieces
    ) -> aiohttp.ClientResponse:
        """The answer to a request, once its head has come."""
        assert self._session is not None, "used between enter and exit"
        headers = {**headers, "Content-Length": str(len(body))} if isinstance(body, Pieces) else headers
        how = {"headers": headers, "allow_redirects": False, "skip_auto_headers": _NO_KIND, **await _way(url)}
        ask = partial(self._session.request, method, _target(url), **how)
        # The silence that aiohttp knows of begins once all of the body is sent; a server may never read it.
        patience = self._silence + len(body) / SLOWEST_UPLOAD
        try:
            async with asyncio.timeout(patience) as waiting:
                try:
                    return await ask(data=_sent(body))
                except (aiohttp.ClientError, OSError) as error:
                    if isinstance(error, TimeoutError) or not asked_again(error):
                        raise
                return await ask(data=_sent(body))
        except TimeoutError as error:
            if waiting.expired():
                raise TransportError("", rest=self._silent(url), timed_out=True) from error
            raise


def _sent(body: bytes | Pieces) -> bytes | io.BytesIO | AsyncIterator[bytes] | None:
    if not len(body):
        return None
    if isinstance(body, Pieces):
        return body.read()
    return body if len(body) < LARGE_BYTES else io.BytesIO(body)


def _check_size(received: int, answer: aiohttp.ClientResponse) -> None:
    """Raises `TransportError` for an answer that is too large. aiohttp unpacks no more than is read at a time."""
    if received > MAX_ANSWER_BYTES:
        raise TransportError(f"The answer is larger than {MAX_ANSWER_BYTES // 2**20} MiB.", too_large=True)
    sent = answer.content.total_compressed_bytes
    if sent is not None and received > max(MAX_UNPACKED_BYTES, MAX_RATIO * sent):
        raise TransportError(
            f"The answer is compressed, and larger than {MAX_UNPACKED_BYTES // 1024} KiB when it is decompressed.",
            too_large=True,
        )


@lru_cache(1024)
def _target(url: str) -> URL:
    """The address. A path that is percent-encoded already goes out as it is: what is signed must be what is sent."""
    return URL(url, encoded="%" in url)


async def _way(url: str) -> dict[str, Any]:
    """What sends a call through the proxy of the environment, if there is one for this address."""
    proxy, target = proxy_for(url), _target(url)
    if proxy is None:
        return {}
    why = await refusal_by_proxy(target.host or "", target.port or 0)
    if why is not None:
        raise _refused(url, why)
    address = URL(proxy)
    # aiohttp makes a Proxy-Authorization of it, in the CONNECT alone where the call is by https.
    said = {"Authorization": aiohttp.encode_basic_auth(address.user, address.password or "")} if address.user else None
    return {"proxy": address.with_user(None), "proxy_headers": said}


def _refused(url: str, why: str) -> TransportError:
    return TransportError(f"{_host(url)} may not be called: {why}.", refused=True)


def _verdict(error: Exception) -> str:
    """What is wrong with a certificate, in the words of the TLS library."""
    return str(getattr(error, "verify_message", "") or type(error).__name__).rstrip(".")


def _host(url: str) -> str:
    """The address without path or query, for messages."""
    return "/".join(url.partition("?")[0].split("/", 3)[:3])


def _why(error: Exception) -> str:
    match error:
        case aiohttp.ClientProxyConnectionError():
            return f"the proxy at {error.host}:{error.port} could not be reached"
        case aiohttp.ClientHttpProxyError():
            return f"the proxy refused it with status {error.status}"
        case aiohttp.ClientConnectorCertificateError():
            return f"its certificate is not trusted ({_verdict(error.certificate_error)})"
        case aiohttp.ClientSSLError():
            return "its TLS connection failed"
        case aiohttp.ClientConnectorDNSError():
            return "its name is not known"
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ConnectionRefusedError):
            return "it refused the connection"
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | ConnectionResetError():
            return "it was closed before the answer was whole"
        case aiohttp.ClientResponseError():
            return f"its response is not valid HTTP ({unquoted(error.message).rstrip('.')})"
        case _:
            return str(error).rstrip(".") or type(error).__name__
