"""Requests to an OpenID Connect provider. Of its own host whoever started Whystop vouches. Other addresses, which only
the provider names, are held to the rules of `WHYSTOP_EGRESS`, as they are connected to.

No redirect is followed and no `.netrc` is read. An answer is bounded in bytes, and from its request on in time.
"""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync
from authlib.integrations.requests_client import OAuth2Session
from requests import ConnectionError as RequestsConnectionError
from requests import RequestException, Response, Timeout
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError
from urllib3.exceptions import TimeoutError as Urllib3Timeout

from agentcore.number_format import seconds
from dashboard.platform.egress import address_check
from dashboard.platform.egress.proxies import proxy_for

SECONDS = (3.0, 5.0)  #: that the provider may take to connect, and then for one answer's next bytes
WHOLE = 10.0  #: seconds from a request to the end of its answer
CUT_AGAIN = 0.1  #: seconds; after WHOLE a connection may still be made, or be between TCP and TLS
MAX_BYTES = 1_000_000  #: of an answer
CHUNK = 65_536  #: bytes
PORTS = {"http": 80, "https": 443}


class _Judging:
    """Connects to an address that was judged after the name was resolved; TLS still asks for the name."""

    _dns_host: str
    port: int
    sock: Any

    def __init__(self, *args: Any, vouched: str, opened: list[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._vouched, self._opened = vouched, opened

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self._opened.append(self.sock)  # that of TLS, in place of the one that was given to it

    def _new_conn(self) -> Any:
        name = self._dns_host
        try:
            made = self._first_that_answers([name] if name == self._vouched else _allowed(name, self.port))
        finally:
            self._dns_host = name
        self._opened.append(made)  # already, for a proxy is asked before `connect` is done
        return made

    def _first_that_answers(self, addresses: list[str]) -> Any:
        until = time.monotonic() + WHOLE
        for address in addresses[:-1]:
            self._dns_host = address
            with suppress(NewConnectionError, ConnectTimeoutError):
                return super()._new_conn()  # type: ignore[misc]
            if time.monotonic() > until:
                break
        self._dns_host = addresses[-1]
        return super()._new_conn()  # type: ignore[misc]


class _Plain(_Judging, HTTPConnection):
    pass


class _Encrypted(_Judging, HTTPSConnection):
    pass


class _Adapter(HTTPAdapter):
    """`opened` is given every socket."""

    def __init__(self, vouched: str, opened: list[Any]) -> None:
        self._vouched, self._opened = vouched, opened
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pools(self._vouched)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        # What is connected to is the proxy, for which whoever set it in the environment vouches.
        manager.pool_classes_by_scheme = self._pools(_host(proxy))
        return manager

    def _pools(self, vouched: str) -> dict[str, Any]:
        kinds = {"http": _PlainPool, "https": _EncryptedPool}
        return {scheme: partial(kind, vouched=vouched, opened=self._opened) for scheme, kind in kinds.items()}


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _EncryptedPool(HTTPSConnectionPool):
    ConnectionCls = _Encrypted


class ProviderSession(OAuth2Session):  # type: ignore[misc]
    """Trusts the system's certificates, and goes by the environment's proxies."""

    def __init__(self, *args: Any, issuer: str, **kwargs: Any) -> None:
        super().__init__(*args, default_timeout=SECONDS, **kwargs)
        self._vouched = _host(issuer)
        self._opened: list[Any] = []
        paths = ssl.get_default_verify_paths()
        self.trust_env = False
        self.verify = paths.cafile or paths.capath or True
        self.headers["Accept-Encoding"] = "identity"
        for scheme in PORTS:
            self.mount(f"{scheme}://", _Adapter(self._vouched, self._opened))

    def request(self, method: str, url: str, **kwargs: Any) -> Any:
        """The answer, read whole. Raises RequestException, also where it may not be asked for."""
        how = {"allow_redirects": False, "stream": True, "proxies": self._proxies(url)}
        with _in_words(), _in_time(self._opened), super().request(method, url, **{**kwargs, **how}) as answer:
            if answer.is_redirect:
                raise RequestException(f"{_host(url)} redirects to another address, which is not followed")
            answer._content = _read(answer)
        return answer

    def get_redirect_target(self, resp: Response) -> None:
        """None, always: to find the next address, `send` would read all of this answer, however long."""

    def _proxies(self, url: str) -> dict[str, str]:
        proxy, parts = proxy_for(url), urlsplit(url)
        if proxy is None:
            return {}
        port = parts.port or PORTS.get(parts.scheme, 0)
        why = None if _host(url) == self._vouched else async_to_sync(address_check.refusal_by_proxy)(_host(url), port)
        if why is not None:
            raise _refused(_host(url), why)
        return {parts.scheme: proxy}


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _allowed(name: str, port: int) -> list[str]:
    """The addresses of this name that the rules allow, in the order in which to try them."""
    judged = [(found, address_check.refusal(name, port, found)) for found in _resolved(name, port)]
    allowed = [found for found, why in judged if why is None]
    if not allowed:
        raise _refused(name, judged[0][1] or "it has no address")
    return allowed


def _resolved(name: str, port: int) -> tuple[str, ...]:
    try:
        return async_to_sync(address_check.resolved)(name, port)
    except (OSError, UnicodeError) as error:
        raise RequestException(f"the name {name} is not known") from error


def _refused(name: str, why: str) -> RequestException:
    return RequestException(f"{name} may not be called: {why}")


@contextmanager
def _in_words() -> Iterator[None]:
    """What urllib3 raises, as requests does; it does so itself only until the head of an answer has come."""
    try:
        yield
    except Urllib3Timeout as error:
        raise Timeout(str(error)) from error
    except HTTPError as error:
        raise RequestsConnectionError(str(error)) from error


@contextmanager
def _in_time(opened: list[Any]) -> Iterator[None]:
    """Raises Timeout after WHOLE, when the sockets are cut. To whom reads, a cut looks like an answer's end."""
    done, deadline = Event(), time.monotonic() + WHOLE
    Thread(target=_cut, args=(opened, done), daemon=True).start()
    try:
        yield
    finally:
        done.set()
        if time.monotonic() >= deadline:
            raise Timeout(f"the answer took more than {seconds(WHOLE)}")


def _cut(opened: list[Any], done: Event) -> None:
    pause = WHOLE
    while not done.wait(pause):
        pause = CUT_AGAIN
        for sock in tuple(opened):
            # TLS inside the TLS of an https proxy is no socket, but holds one.
            with suppress(OSError):
                socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)


def _read(answer: Response) -> bytes:
    """A body. Compressed it was not asked for, so it is not unpacked."""
    found = b""
    while part := answer.raw.read1(CHUNK, decode_content=False):
        found += part
        if len(found) > MAX_BYTES:
            raise RequestException(f"the answer has more than {MAX_BYTES:,} bytes")
    return found
