"""What goes further of a request's head: of its headers, and of its query."""

from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from dashboard.gateway.wire.caller_dialect import CallerDialect


def handed_up(headers: Iterable[tuple[bytes, bytes]], door: CallerDialect) -> dict[str, str]:
    """The caller's headers that go along to an upstream of its own dialect. Lines of one name are one list."""
    told: dict[str, list[str]] = {}
    for name, value in headers:
        if (known := name.decode("latin-1")) in door.headers.up and (said := value.decode("latin-1")):
            told.setdefault(known, []).append(said)
    return {name: ", ".join(dict.fromkeys(lines)) for name, lines in told.items()}


def without_key(query: bytes) -> bytes:
    """A key beside the one that counts goes no further, and into no log."""
    return b"&".join(part for part in query.split(b"&") if unquote_to_bytes(part.partition(b"=")[0]) != b"key")
