"""Keys that a server sends back: asterisks stand for them before anything is stored, shown or passed on.

Proxies and test servers repeat the headers of a request in what they answer, and some providers quote a wrong key.
"""

from collections.abc import Iterable, Mapping

#: How the names of headers end that hold a key, in small letters, and one that holds none.
NAMES, NO_KEY = ("authorization", "key", "token", "secret"), "idempotency-key"
SHORTEST = 8  #: characters; a shorter one may be any word, such as `none`


def keys_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that these headers of a request hold."""
    return long_enough(value.rpartition(" ")[2] for name, value in headers.items() if _holds_a_key(name.lower()))


def _holds_a_key(name: str) -> bool:
    return name.endswith(NAMES) and name != NO_KEY


def long_enough(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(key for key in keys if len(key) >= SHORTEST)


class KeyHider:
    """Hides keys in one body that comes in pieces, whose length stays the same."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = tuple(key.encode("utf-8", "surrogateescape") for key in keys)
        self._held = b""  #: the end of what came, which may be the beginning of a key

    def text(self, text: str) -> str:
        """A header's value."""
        return self._hidden(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def piece(self, piece: bytes) -> bytes:
        """What may be given on now."""
        if not self._keys:
            return piece
        whole = self._hidden(self._held + piece)
        held = max(_begun(whole, key) for key in self._keys)
        self._held = whole[len(whole) - held :]
        return whole[: len(whole) - held]

    def end(self) -> bytes:
        """What was held until the end of the body."""
        held, self._held = self._held, b""
        return held

    def _hidden(self, text: bytes) -> bytes:
        for key in self._keys:
            if key in text:
                text = text.replace(key, b"*" * len(key))
        return text


def _begun(text: bytes, key: bytes) -> int:
    """How many bytes at the end of a text are the beginning of this key."""
    tail = text[-(len(key) - 1) :]
    start = tail.find(key[:1])
    while start != -1 and not key.startswith(tail[start:]):
        start = tail.find(key[:1], start + 1)
    return 0 if start == -1 else len(tail) - start
