"""What a room looks at: one subject of one kind of page, the same for every viewer.

A scene reads the database once for all viewers, and says what brings a page up to date from what that page shows. Most
viewers show the same, so what they are sent is rendered once. A page of which nothing is known is sent everything.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Self

PACE = 0.15  #: seconds between two looks
PATIENCE = 1.0  #: seconds until a look that nothing announced


class Scene(ABC):
    """All but `heard` is called in a thread, one call at a time.

    What it keeps in its attributes may be taken away after any look (`broadcast_hub.RoomMemory`): they are then what
    they were before the first one. So an attribute is set anew rather than changed, and `shows` holds no large values.

    `subject` is what two sockets must have in common to share a room. `shows` is whatever a scene needs to know of a
    page: hashable, and equal where pages are to be sent the same.
    """

    group: str = ""  #: of the channel layer
    pace: float = PACE
    subject: Hashable

    @abstractmethod
    def look(self) -> None:
        """Read the database."""

    @abstractmethod
    def since(self, shows: Hashable) -> tuple[list[str], Hashable]:
        """The fragments that bring a page up to date as of the last look, a message each, and what it shows then.

        `shows` is what the socket began with, what this returned before, or `UNKNOWN`.
        """

    def is_waiting(self) -> bool:
        """Whether to look again unasked after `PATIENCE`."""
        return True

    def is_over(self) -> bool:
        """Whether nothing can change any more; sockets that are up to date are then closed for good."""
        return False

    def failing(self, error: Exception) -> list[str]:  # noqa: ARG002
        """The fragments that say why this can never be looked at, after which sockets are closed for good; none: it may
        be tried again."""
        return []

    def heard(self, text: str, shows: Hashable) -> Self | None:  # noqa: ARG002
        """The scene that a page goes over to by what it says, if any. Called in the loop: no database."""
        return None


def digest_of(html: str) -> bytes:
    """What a page shows of a fragment, without the fragment."""
    return hashlib.sha256(html.encode(errors="surrogatepass")).digest()


class OnePart(Scene):
    """A scene that is one fragment, pushed whole whenever it differs. What a page shows is the digest of that."""

    html = ""

    @abstractmethod
    def render(self) -> str:
        """The fragment, or nothing."""

    def look(self) -> None:
        self.html = self.render()

    def since(self, shows: Hashable) -> tuple[list[str], Hashable]:
        now = digest_of(self.html)
        return ([self.html] if self.html and now != shows else []), now
