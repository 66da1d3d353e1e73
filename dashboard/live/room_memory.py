"""What the rooms of a process keep from one look to the next: bounded for all of them together.

A room keeps what its scene has read and rendered, so that the next look reads, and sends, only what is new. A room for
which there is no more space keeps nothing: it reads all of it again, sends what changed as whole parts, and looks once
a second (`scenes.PATIENCE`). Its viewers miss nothing but the moments in between.
"""

from dashboard.live.scenes import Scene
from dashboard.platform.object_weight import weight_of

MOST_BYTES = 64_000_000  #: of all rooms of a process

_kept: dict["RoomMemory", int] = {}  #: bytes, by room


def total() -> int:
    """Bytes that all rooms keep."""
    return sum(_kept.values())


class RoomMemory:
    """Of one room, made before its first look."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._fresh = {**vars(scene)}  #: the scene before it has looked
        self._weighed: dict[str, tuple[object, int]] = {}  #: what it kept when it was weighed last, and its bytes
        self.is_full = False  #: there was no space for what the last look has read

    def weigh(self) -> int:
        """Bytes of what the scene keeps now. May be called in a thread."""
        held = vars(self._scene)
        self._weighed = {name: self._weight(name, value) for name, value in held.items() if name not in UNCOUNTED}
        return sum(weight for _, weight in self._weighed.values())

    def _weight(self, name: str, value: object) -> tuple[object, int]:
        """What is the same as before is not weighed again."""
        before = self._weighed.get(name)
        return before if before is not None and before[0] is value else (value, weight_of(value))

    def settle(self, weight: int) -> None:
        """Keep so many bytes, or nothing where there is no space for them."""
        _kept.pop(self, None)
        self.is_full = total() + weight > MOST_BYTES
        if self.is_full:
            self._weighed = {}
            held = vars(self._scene)
            held.clear()
            held.update(self._fresh)
        else:
            _kept[self] = weight

    def end(self) -> None:
        """The room has ended."""
        _kept.pop(self, None)


#: What a scene is about: it is not what a look has read.
UNCOUNTED = frozenset({"subject", "group"})
