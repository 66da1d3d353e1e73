"""The outermost ASGI application: settles the client's address and scheme, behind trusted proxies.

A trusted proxy's word replaces the address and the scheme of its connection; nobody else's does. Where the public
address is https, pages are not answered over http, except to a browser on this machine.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import structlog
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from dashboard.accounts.access import AccessForm, access_form_of, is_machine
from dashboard.platform.local_client import forwards, is_near
from dashboard.platform.trusted_proxies import Proxies, address_of, client_of
from dashboard.runtime.request_guard.refusals import CLOSE, HEADERS, Answer, refusal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = structlog.get_logger(__name__)

PLAIN = "This address is served over https only. Send the request there, and replace any password or token it held."
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
        if address is None or not address.is_private or not any(map(forwards, names)):
            return
        self._told = True
        log.warning(
            "proxy_not_trusted",
            address=str(address),
            detail="All clients of this proxy count as one address. Name it in WHYSTOP_TRUSTED_PROXIES if it is yours.",
        )
