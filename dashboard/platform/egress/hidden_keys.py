"""Keys that a server sends back: asterisks stand for them before anything is stored, shown or passed on.

Proxies and test servers repeat the headers of a request in what they answer, and some providers quote a wrong key.
"""

import re
from collections.abc import Iterable, Mapping

#: How the names of headers end that hold a key, in small letters, and one that holds none.
KEY_HEADER_ENDINGS, NO_KEY = ("authorization", "key", "token", "secret"), "idempotency-key"
SHORTEST = 12  #: characters; a shorter one may be any word, such as `none`, `lm-studio` or `not-needed`
QUOTED = re.compile(r"""[\s:]*(?<!\w)(?:bytearray\()?b?['"]""")  #: where a message begins to quote


def keys_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that these headers of a request hold."""
    named = [(name.lower(), value) for name, value in headers.items()]
    return long_enough(_key(name, value) for name, value in named if _holds_a_key(name))


def _holds_a_key(name: str) -> bool:
    return name.endswith(KEY_HEADER_ENDINGS) and name != NO_KEY


def _key(name: str, value: str) -> str:
    """A scheme, such as `Bearer`, stands before a key in these headers alone."""
    return value.rpartition(" ")[2] if name.endswith("authorization") else value


def long_enough(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(key for key in keys if len(key) >= SHORTEST)


def unquoted(message: str) -> str:
    """What an HTTP library says of a malformed answer, until it quotes bytes: they may hold a key, or part of one."""
    return " ".join(QUOTED.split(message, maxsplit=1)[0].split())


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
