"""The outermost ASGI application: settles the client's address and scheme, behind trusted proxies.

A trusted proxy's word replaces the address and the scheme of its connection; nobody else's does. Where the public
address is https, pages are not answered over http, except to a browser on this machine.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

from dashboard.accounts.access import AccessForm, access_form_of, is_machine
from dashboard.runtime.request_guard.proxies import Proxies, address_of, client_of
from dashboard.runtime.request_guard.refusals import CLOSE, HEADERS, Answer, refusal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = structlog.get_logger(__name__)

PLAIN = "This address is served over https only. Send the request there, and replace any password or token it held."
#: Headers by which a proxy says that it is one, beside all that begin with `x-forwarded`.
_FORWARDING = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip"})
_SECURE = {"http": {"http": "http", "https": "https"}, "websocket": {"http": "ws", "https": "wss"}}


class ClientIdentity:
    """`application`, behind these proxies; `https`: where the public address is https."""

    def __init__(self, application: Application, proxies: Proxies, *, https: bool) -> None:
        self._application, self._proxies, self._https = application, proxies, https
        self._told = False  #: that somebody forwards who is not trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] not in _SECURE:
            await self._application(scope, receive, send)
            return
        peer = (scope.get("client") or ("", 0))[0]
        client = client_of(peer, scope["headers"], self._proxies)
        if client.proxied:
            scope = {**scope, "client": (client.address, 0)}
            if client.scheme:
                scope["scheme"] = _SECURE[scope["type"]][client.scheme]
        elif not self._told:
            self._tell(peer, scope)
        answer = self._moved(scope, proxied=client.proxied)
        if answer is None:
            await self._application(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
        await send({"type": "http.response.body", "body": answer.body})

    def _moved(self, scope: Scope, *, proxied: bool) -> Answer | None:
        """The answer to a request that should have come by https; None: it may go on."""
        if not self._https or scope["type"] != "http" or scope["scheme"] == "https" or is_near(scope):
            return None
        path = scope["path"]
        # Programs inside the network may come without the proxy, and so without https.
        if access_form_of(path) is AccessForm.OPEN or (is_machine(path) and not proxied):
            return None
        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
        if scope["method"] not in {"GET", "HEAD"} or is_machine(path):
            return refusal(path, 403, PLAIN)
        if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
            return None  # Django says what is wrong
        query = b"?" + scope["query_string"] if scope.get("query_string") else b""
        place = b"https://" + host.encode("latin-1") + (scope.get("raw_path") or path.encode()) + query
        return Answer(301, ((b"location", place), (b"content-length", b"0"), *HEADERS, CLOSE), b"")

    def _tell(self, peer: str, scope: Scope) -> None:
        """Say once that a proxy nearby is not trusted; a stranger's word from far away is not worth a line."""
        address = address_of(peer)
        names = (name.decode("latin-1") for name, _ in scope["headers"])
        if address is None or not address.is_private or not any(map(_forwards, names)):
            return
        self._told = True
        log.warning(
            "proxy_not_trusted",
            address=str(address),
            detail="All clients of this proxy count as one address. Name it in WHYSTOP_TRUSTED_PROXIES if it is yours.",
        )


def is_local(request: HttpRequest) -> bool:
    """Whether the client is a program on this machine that no proxy stands before."""
    version = getattr(request, "scope", {}).get("http_version", "1.1")
    host = request.headers.get("Host") or request.META.get("SERVER_NAME", "")
    return _is_near(request.META.get("REMOTE_ADDR", ""), host, request.headers, version)


def is_near(scope: Scope) -> bool:
    """As `is_local`, of an ASGI scope."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    peer = (scope.get("client") or ("", 0))[0]
    return _is_near(peer, headers.get("host", ""), headers, scope.get("http_version", "1.1"))


def _is_near(peer: str, host: str, names: Iterable[str], version: str) -> bool:
    """A loopback address, asked for by a name of this machine, and no sign of a proxy; nginx without settings of its
    own sends HTTP/1.0 and no other sign, browsers never do."""
    address = address_of(peer)
    if address is None or not address.is_loopback or version == "1.0" or any(map(_forwards, names)):
        return False
    named = address_of(host)
    return host.partition(":")[0].lower() == "localhost" or (named is not None and named.is_loopback)


def _forwards(name: str) -> bool:
    name = name.lower()
    return name.startswith("x-forwarded") or name in _FORWARDING
