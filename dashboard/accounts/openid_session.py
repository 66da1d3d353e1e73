"""Requests to an OpenID Connect provider. Of its own host whoever started Whystop vouches. Other addresses, which only
the provider names, are held to the rules of `WHYSTOP_EGRESS`, as they are connected to.

No redirect is followed, no `.netrc` is read, and an answer is bounded in bytes and time.
"""

import ssl
import time
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync
from authlib.integrations.requests_client import OAuth2Session
from requests import RequestException, Response
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from dashboard.platform.egress import address_check
from dashboard.platform.egress.proxies import proxy_for

SECONDS = (3.0, 5.0)  #: that the provider may take to connect, and then for one answer's next bytes
WHOLE = 10.0  #: seconds for all of an answer
MAX_BYTES = 1_000_000  #: of an answer
CHUNK = 65_536  #: bytes
PORTS = {"http": 80, "https": 443}


class _Judging:
    """Connects to an address that was judged after the name was resolved; TLS still asks for the name."""

    _dns_host: str
    port: int

    def __init__(self, *args: Any, vouched: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._vouched = vouched

    def _new_conn(self) -> Any:
        name = self._dns_host
        if name != self._vouched:
            self._dns_host = _judged(name, self.port)
        try:
            return super()._new_conn()  # type: ignore[misc]
        finally:
            self._dns_host = name


class _Plain(_Judging, HTTPConnection):
    pass


class _Encrypted(_Judging, HTTPSConnection):
    pass


class _Adapter(HTTPAdapter):
    def __init__(self, vouched: str) -> None:
        self._vouched = vouched
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {
            "http": partial(_PlainPool, vouched=self._vouched),
            "https": partial(_EncryptedPool, vouched=self._vouched),
        }


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _EncryptedPool(HTTPSConnectionPool):
    ConnectionCls = _Encrypted


class ProviderSession(OAuth2Session):  # type: ignore[misc]
    """Trusts the system's certificates, and goes by the environment's proxies."""

    def __init__(self, *args: Any, issuer: str, **kwargs: Any) -> None:
        super().__init__(*args, default_timeout=SECONDS, **kwargs)
        self._vouched = _host(issuer)
        paths = ssl.get_default_verify_paths()
        self.trust_env = False
        self.verify = paths.cafile or paths.capath or True
        self.headers["Accept-Encoding"] = "identity"
        for scheme in PORTS:
            self.mount(f"{scheme}://", _Adapter(self._vouched))

    def request(self, method: str, url: str, **kwargs: Any) -> Any:
        """The answer, read whole. Raises RequestException, also where it may not be asked for."""
        began, how = time.monotonic(), {"allow_redirects": False, "stream": True, "proxies": self._proxies(url)}
        answer = super().request(method, url, **{**kwargs, **how})
        with answer:
            if answer.is_redirect:
                raise RequestException(f"{_host(url)} sends on to another address, which is not followed")
            answer._content = _read(answer, began + WHOLE)
        return answer

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


def _judged(name: str, port: int) -> str:
    """An address of this name that the rules allow."""
    judged = [(found, address_check.refusal(name, port, found)) for found in _resolved(name, port)]
    allowed = [found for found, why in judged if why is None]
    if not allowed:
        raise _refused(name, judged[0][1] or "it has no address")
    return allowed[0]


def _resolved(name: str, port: int) -> tuple[str, ...]:
    try:
        return async_to_sync(address_check.resolved)(name, port)
    except (OSError, UnicodeError) as error:
        raise RequestException(f"the name {name} is not known") from error


def _refused(name: str, why: str) -> RequestException:
    return RequestException(f"{name} may not be called: {why}")


def _read(answer: Response, deadline: float) -> bytes:
    """A body. Compressed it was not asked for, so it is not unpacked."""
    found = b""
    while part := answer.raw.read1(CHUNK, decode_content=False):
        found += part
        if len(found) > MAX_BYTES or time.monotonic() > deadline:
            raise RequestException(f"the answer has more than {MAX_BYTES:,} bytes, or took more than {WHOLE:.0f} s")
    return found
