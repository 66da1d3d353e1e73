"""A cache of what is computed or read again and again, and may be large: bounded in entries and in bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from sys import getsizeof
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class BytesCache(Generic[K]):
    """Calls `make` once for each key, as long as its bytes are kept; what was asked for longest ago goes first.

    `most`: bytes of all keys and values. A value that is larger alone is not kept, and drives out no other.
    """

    def __init__(self, make: Callable[[K], bytes], *, entries: int, most: int) -> None:
        self._make, self._entries, self._most = make, entries, most
        self._kept: OrderedDict[K, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self.size = 0  #: bytes that are kept

    def __call__(self, key: K) -> bytes:
        with self._lock:
            if (kept := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return kept
        made = self._make(key)  # not under the lock: it may read the database
        self._keep(key, made)
        return made

    def _keep(self, key: K, made: bytes) -> None:
        size = _size(key, made)
        with self._lock:
            if size > self._most or key in self._kept:
                return
            self._kept[key] = made
            self.size += size
            while self.size > self._most or len(self._kept) > self._entries:
                self.size -= _size(*self._kept.popitem(last=False))

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self.size = 0


def _size(key: object, value: bytes) -> int:
    return getsizeof(key) + getsizeof(value)
