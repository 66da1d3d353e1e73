"""Static files, answered before Django sees the request."""

from typing import Any
from wsgiref.headers import Headers

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from servestatic import ServeStaticASGI

from dashboard.runtime.static_copy import copies, digest

_YEAR = "public, max-age=31536000, immutable"
_ASK_FIRST = "no-cache"


def with_static_files(application: Any) -> ServeStaticASGI:
    """`application` with every static file in front of it: compressed and kept for good below the release's address,
    and below `/static/` itself for addresses that do not name a release."""
    server = ServeStaticASGI(
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
