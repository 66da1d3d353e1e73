"""The addresses of files and batches, which name no model: what is asked there goes on as it came. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_ID = r"[A-Za-z0-9_-]{1,200}"
#: Each address as it is counted, what it looks like, and the methods it takes.
_ROUTES: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (address, re.compile(address.replace("{id}", _ID)), methods)
    for address, methods in (
        ("/v1/files", ("GET", "POST")),
        ("/v1/files/{id}", ("GET", "DELETE")),
        ("/v1/files/{id}/content", ("GET",)),
        ("/v1/batches", ("GET", "POST")),
        ("/v1/batches/{id}", ("GET",)),
        ("/v1/batches/{id}/cancel", ("POST",)),
    )
)
FILES = "/v1/files"
BATCHES = "/v1/batches"
CONNECTION = b"x-whystop-connection"  #: the header that names a connection
CONNECTION_HEADER = CONNECTION.decode()


@dataclass(frozen=True, slots=True)
class FileRoute:
    """One address. `label`: with `{id}` in the place of an id, for the metrics."""

    path: str
    label: str
    methods: tuple[str, ...]


def file_route(path: str) -> FileRoute | None:
    """What is at an address; None: no file and no batch."""
    found = ((label, methods) for label, pattern, methods in _ROUTES if pattern.fullmatch(path))
    return next((FileRoute(path, label, methods) for label, methods in found), None)


def connection_named(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The connection that the caller names in a header."""
    return next((value.decode("latin-1").strip() or None for name, value in headers if name == CONNECTION), None)
