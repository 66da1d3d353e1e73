"""What an application keeps in memory for a client that has still to read it.

The server counts it with what it has written and the client has not taken. Where that is too much for all clients
together, it has the application give up what it keeps for one of them. What several clients are to read is counted
once, for the one that has had it for longest. Used on the event loop alone.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

SCOPE_KEY = "whystop.kept"  #: in an ASGI scope: a `KeptAnswer`

#: Who keeps a thing, by its id; the first of them counts it.
_keepers: dict[int, dict["KeptAnswer", None]] = {}


class KeptAnswer:
    """Of one request or websocket. `changed` is called when `size` may have changed."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._changed = changed
        self._things: dict[int, tuple[object, int]] = {}  #: with their bytes
        self._has_ended = False
        self.give_up: Callable[[], None] | None = None  #: lets go of all; None: the connection is cut instead

    @property
    def size(self) -> int:
        """Bytes, without what is counted for others."""
        return sum(size for place, (_, size) in self._things.items() if next(iter(_keepers[place])) is self)

    def keep(self, thing: object, size: int) -> None:
        """So many bytes more. Of a thing that is kept already the size is another one now."""
        if self._has_ended:
            return
        self._things[id(thing)] = thing, size
        _keepers.setdefault(id(thing), {})[self] = None
        self._changed()

    def let_go(self, thing: object) -> None:
        """It was told, or is not to be any more."""
        if self._things.pop(id(thing), None) is None:
            return
        others = _keepers[id(thing)]
        del others[self]
        if not others:
            del _keepers[id(thing)]
        for one in (self, *islice(others, 1)):  # what they do may change who keeps it
            one._changed()

    def clear(self) -> None:
        """Nothing is kept any more."""
        for thing, _ in [*self._things.values()]:
            self.let_go(thing)

    def end(self) -> None:
        """The client has gone: what its application keeps until it hears of that is counted for others."""
        self._has_ended = True
        self.clear()


def kept_of(scope: Mapping[str, Any]) -> KeptAnswer:
    """One that nobody counts where no server of ours serves: in a process of its own, and in tests."""
    kept: KeptAnswer = scope.get(SCOPE_KEY) or KeptAnswer()
    return kept
