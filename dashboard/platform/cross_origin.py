"""Pages of other origins that may call the gateway (CORS): those that `WHYSTOP_CORS_ORIGINS` names, and no others.

A browser asks first, without credentials, and is answered before anybody looks for a key. What it then sends needs one
as any request does: cookies count for nothing at these addresses, so none are allowed along.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

ANY = "*"
METHODS = b"GET, HEAD, POST, DELETE"
KEPT_SECONDS = b"600"  #: that a browser need not ask again
_GATEWAY = ("/v1/", "/v1beta/")
_NAMES = re.compile(rb"[A-Za-z0-9-]{1,64}(?:\s*,\s*[A-Za-z0-9-]{1,64}){0,63}")
_VARY = (b"vary", b"origin, access-control-request-method, access-control-request-headers")


def origins_read(text: str) -> frozenset[str]:
    """A list by comma of `https://app.example`, or `*`. Raises ValueError with a sentence for what is no origin."""
    found = frozenset(part.strip().rstrip("/").lower() for part in text.split(",") if part.strip())
    for origin in found - {ANY}:
        parts = urlsplit(origin)
        if origin != f"{parts.scheme}://{parts.netloc}" or not parts.hostname or "@" in parts.netloc:
            raise ValueError(f"“{origin}” is no origin: write a scheme and a host, such as https://app.example, or *")
    return found


class CrossOrigin:
    """`application`, whose gateway these origins may call."""

    def __init__(self, application: Application, origins: frozenset[str]) -> None:
        self._application, self._origins = application, origins

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """ASGI."""
        if not self._origins or scope["type"] != "http" or not f"{scope['path']}/".startswith(_GATEWAY):
            await self._application(scope, receive, send)
            return
        told = dict(scope["headers"])
        origin = told.get(b"origin", b"")
        allowed = origin if self._allows(origin) else b""
        if allowed and scope["method"] == "OPTIONS" and b"access-control-request-method" in told:
            names = told.get(b"access-control-request-headers", b"").strip()
            await _answer(send, _preflight(allowed, names))
            return

        async def also_said(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_headers(allowed)]}
            await send(message)

        await self._application(scope, receive, also_said)

    def _allows(self, origin: bytes) -> bool:
        text = origin.decode("latin-1").lower()
        return bool(text) and (ANY in self._origins or text in self._origins)


Headers = Iterable[tuple[bytes, bytes]]


def _headers(origin: bytes) -> Headers:
    """An origin that is not allowed is told nothing, but caches are told that others may be."""
    if not origin:
        return ((b"vary", b"origin"),)
    return (
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"*"),
        (b"vary", b"origin"),
    )


def _preflight(origin: bytes, names: bytes) -> Headers:
    """Whatever headers it means to send: clients of many vendors send theirs, and none of them opens anything."""
    yield b"access-control-allow-origin", origin
    yield b"access-control-allow-methods", METHODS
    if _NAMES.fullmatch(names):
        yield b"access-control-allow-headers", names
    yield b"access-control-max-age", KEPT_SECONDS
    yield _VARY


async def _answer(send: Send, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": list(headers)})
    await send({"type": "http.response.body", "body": b""})
