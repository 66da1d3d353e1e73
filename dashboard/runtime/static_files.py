"""Static files, answered before Django sees the request."""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from wsgiref.headers import Headers

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from servestatic import ServeStaticASGI

from dashboard.runtime.static_copy import copies, digest

_YEAR = "public, max-age=31536000, immutable"
_ASK_FIRST = "no-cache"
_OPEN_FILE = "http.response.zerocopysend"  #: the extension of ASGI by which a server is given the open file
_CHUNK = 65_536  #: bytes

Event = MutableMapping[str, Any]  #: of ASGI
Send = Callable[[Event], Awaitable[None]]


class _Server(ServeStaticASGI):  # type: ignore[misc] # servestatic is untyped
    """Reads what is asked for on the loop: the files are small, and four changes of thread took most of the time."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] in self.files:
            scope, send = {**scope, "extensions": {_OPEN_FILE: {}}}, _reading(send)
        await super().__call__(scope, receive, send)


def _reading(send: Send) -> Send:
    """`send`, which is given a file's bytes where it would be given the open file."""

    async def sent(event: Event) -> None:
        if event["type"] != _OPEN_FILE:
            await send(event)
            return
        with event["file"] as file:
            file.seek(event["offset"])
            length = event.get("count", os.fstat(file.fileno()).st_size - event["offset"])
            for start in range(0, max(length, 1), _CHUNK):
                chunk, more = file.read(min(length - start, _CHUNK)), start + _CHUNK < length
                await send({"type": "http.response.body", "body": chunk, "more_body": more})

    return sent


def with_static_files(application: Any) -> ServeStaticASGI:
    """`application` with every static file in front of it: compressed and kept for good below the release's address,
    and below `/static/` itself for addresses that do not name a release."""
    server = _Server(
        application,
        autorefresh=settings.DEBUG,
        max_age=None,
        allow_all_origins=False,
        add_headers_function=_add_headers,
    )
    for folder, prefix in _folders():
        server.add_files(folder, prefix=prefix)
    return server


def _folders() -> list[tuple[str, str]]:
    """Each folder with the address of its files."""
    known = {} if settings.DEBUG else copies()
    if digest() in known:
        released = [(str(copy), f"{settings.STATIC_URL}{name}/") for name, copy in known.items()]
        return [*released, (str(known[digest()]), settings.STATIC_URL)]
    # The finders' first is the one that wins; servestatic lets the last win.
    found = [storage.location for finder in get_finders() for storage in finder.storages.values()]  # type: ignore[attr-defined]
    prefixes = (settings.STATIC_URL, f"{settings.STATIC_URL}{digest()}/")
    return [(folder, prefix) for folder in reversed(found) for prefix in prefixes]


def _add_headers(headers: Headers, _path: str, url: str) -> None:
    # A vendored file carries its version in its name, and a release's address changes with any file.
    name = url.removeprefix(settings.STATIC_URL)
    kept = name.startswith("vendor/") or name.split("/", 1)[0] == digest()
    headers["Cache-Control"] = _YEAR if kept else _ASK_FIRST
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
