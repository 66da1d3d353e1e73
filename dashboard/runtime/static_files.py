"""Static files, answered before Django sees the request: ours from `static/`, and those of the installed apps."""

from typing import Any
from wsgiref.headers import Headers

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from servestatic import ServeStaticASGI

_YEAR = "public, max-age=31536000, immutable"
_ASK_FIRST = "no-cache"


def with_static_files(application: Any) -> ServeStaticASGI:
    """`application` with every static file in front of it; no collected copy is needed."""
    server = ServeStaticASGI(
        application,
        autorefresh=settings.DEBUG,
        max_age=None,
        allow_all_origins=False,
        add_headers_function=_add_headers,
    )
    for folder in _folders():
        server.add_files(folder, prefix=settings.STATIC_URL)
    return server


def _folders() -> list[str]:
    # The finders' first is the one that wins; servestatic lets the last win.
    found = [storage.location for finder in get_finders() for storage in finder.storages.values()]  # type: ignore[attr-defined]
    return list(reversed(found))


def _add_headers(headers: Headers, _path: str, url: str) -> None:
    # A vendored file carries its version in its name; ours may change with the next start.
    headers["Cache-Control"] = _YEAR if url.startswith(f"{settings.STATIC_URL}vendor/") else _ASK_FIRST
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
