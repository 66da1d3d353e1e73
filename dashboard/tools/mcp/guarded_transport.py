"""The HTTP transport of visits: each request, those of redirects too, goes to an address that was judged after its name
was resolved, and to no other. TLS still asks for the certificate of the name.
"""

import contextlib
import os
import ssl
from functools import lru_cache
from pathlib import Path

import httpx2

from dashboard.platform.egress import address_check
from dashboard.platform.egress.proxies import UnusableProxy, proxy_for
from dashboard.tools.tool import ToolProblem

_PORTS = {"http": 80, "https": 443}
_NAMING_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Asks each server at an address that the rules allow. Raises `ToolProblem` where there is none."""

    def __init__(self) -> None:
        self._direct = httpx2.AsyncHTTPTransport(verify=_trusted())
        self._by_proxy: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host, port = request.url.host, request.url.port or _PORTS.get(request.url.scheme, 0)
        proxy = _proxy_for(request.url)
        if proxy is not None:
            why = await address_check.refusal_by_proxy(host, port)
            if why is not None:
                raise _refused(host, why)
            return await self._through(proxy).handle_async_request(request)
        return await self._first_that_answers(request, host, await _allowed(host, port))

    async def _first_that_answers(self, request: httpx2.Request, host: str, found: tuple[str, ...]) -> httpx2.Response:
        for address in found[:-1]:
            # Nothing was sent where no connection was made, so the next address may be tried.
            with contextlib.suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._direct.handle_async_request(_at(request, host, address))
        return await self._direct.handle_async_request(_at(request, host, found[-1]))

    def _through(self, proxy: str) -> httpx2.AsyncHTTPTransport:
        if proxy not in self._by_proxy:
            self._by_proxy[proxy] = httpx2.AsyncHTTPTransport(verify=_trusted(), proxy=proxy)
        return self._by_proxy[proxy]

    async def aclose(self) -> None:
        for transport in (self._direct, *self._by_proxy.values()):
            await transport.aclose()


def _trusted() -> ssl.SSLContext:
    """The certificate authorities that the environment names, else those that come with the library."""
    named = [os.environ.get(name) for name in _NAMING_AUTHORITIES]
    return _read(*((path, _changed_at(path)) for path in named))


def _changed_at(path: str | None) -> int:
    """Of a file or folder, in nanoseconds; 0 where there is none."""
    try:
        return Path(path).stat().st_mtime_ns if path else 0
    except OSError:
        return 0


@lru_cache(maxsize=1)
def _read(*_named: tuple[str | None, int]) -> ssl.SSLContext:
    """Read once for all visits, until they change: it takes 20 ms of a processor, and the event loop waits."""
    return httpx2.create_ssl_context()


def _at(request: httpx2.Request, host: str, address: str) -> httpx2.Request:
    """The same request, to one address; its `Host` header and the name for TLS stay."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )


async def _allowed(host: str, port: int) -> tuple[str, ...]:
    try:
        found = await address_check.resolved(host, port)
    except (OSError, UnicodeError) as error:
        raise httpx2.ConnectError(f"the name {host} is not known") from error
    judged = [(address, address_check.refusal(host, port, address)) for address in found]
    allowed = tuple(address for address, why in judged if why is None)
    if not allowed:
        raise _refused(host, judged[0][1] or "it has no address")
    return allowed


def _proxy_for(url: httpx2.URL) -> str | None:
    try:
        return proxy_for(str(url))
    except UnusableProxy as error:
        raise ToolProblem(f"{error}.") from error


def _refused(host: str, why: str) -> ToolProblem:
    return ToolProblem(f"The MCP server at {host} may not be called: {why}.")
