"""Rooms: the sockets of this process that watch the same, and the one task that looks for all of them.

A room is one member of the layer's group. When something changed it looks at the database once, renders what changed
once, and gives every viewer the same messages; who joins or was lost is brought up to date by itself, from what its
page shows. So the cost of a change is one look and one rendering, and for each viewer only the writing.

A message of the layer says only that something changed. It may be dropped, so a room that waits for something looks by
itself each second; it may come a thousand times, so a room looks at most every `pace` seconds. A layer that fails is
tried again each second, and the room looks meanwhile.

Also holds one socket of those that share a room: what its page shows, and what still waits to be written to it.

Whoever reads slowly holds up nobody: what waits for a viewer is bounded, and a viewer beyond the bound is *lost*. What
waited is dropped, nothing is known of its page any more, and once it reads again it is brought up to date as a whole.

"""

import asyncio
import contextlib
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import structlog
from channels.layers import get_channel_layer

from dashboard.agents.current_project import current
from dashboard.live.scenes import PATIENCE, Scene
from dashboard.platform.db_threads import LOOKS, in_turn
from dashboard.platform.object_weight import weight_of
from dashboard.platform.unread_responses import KeptAnswer

Message = Mapping[str, Any]  #: of ASGI
Send = Callable[[Message], Awaitable[None]]

MOST_WAITING = 16  #: messages; they are the room's, so that they cost little, but each is older than the next
CLOSE = "websocket.close"
UNKNOWN = None  #: what a page shows of which nothing is known: it is to be sent everything
LOST = object()  #: what a page shows whose viewer is lost and has not read yet: it is sent nothing


class Subscriber:
    """`shows` is what the page will show once everything that waits is written; scenes say what it is made of. `who`:
    the user whose page it is."""

    __slots__ = ("_kept", "_more", "_send", "_waiting", "level", "on_readable", "shows", "who")

    def __init__(self, send: Send, shows: object, who: object = "", kept: KeptAnswer | None = None) -> None:
        self.who = who
        self._kept = KeptAnswer() if kept is None else kept
        self.shows: object = shows
        self.on_readable: Callable[[], None] = lambda: None  #: called when a lost viewer can be written to again
        self.level = asyncio.Event()  #: set while the page is known to be, or about to be, up to date
        self._send = send
        self._waiting: deque[Message] = deque()
        self._more = asyncio.Event()

    def take(self, messages: Sequence[Message], shows: object) -> None:
        """Write these when the socket can take them; never waits."""
        if self._waiting and len(self._waiting) + len(messages) > MOST_WAITING:
            self._waiting.clear()
            self._kept.clear()
            self.shows = LOST
            self.level.clear()
            return
        self.shows = shows
        self.level.set()
        for message in messages:
            self._waiting.append(message)
            self._kept.keep(message["text"], sys.getsizeof(message["text"]))  # as the server does while it sends it
            self._more.set()

    def end(self, code: int) -> None:
        """Close the socket after what waits."""
        self._waiting.append({"type": CLOSE, "code": code})
        self._more.set()

    def left(self) -> None:
        """It is in no room any more, so nothing waits for it."""
        self._waiting.clear()
        self._kept.clear()

    async def write(self) -> None:
        """Write until the socket has been closed. Raises what the server raises when it is gone."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                message = self._waiting.popleft()
                await self._send(message)
                if message["type"] == CLOSE:
                    return
                self._kept.let_go(message["text"])
            if self.shows is LOST:
                self.shows = UNKNOWN
                self.on_readable()


log = structlog.get_logger(__name__)

DONE = 1000  #: the close code after which a page stays as it is
TRY_AGAIN = 1011  #: the close code after which a page connects again

News = dict[Hashable, tuple[list[str], Hashable]]  #: what brings up to date, and what is shown then, by what was shown
Rooms = dict[Hashable, "BroadcastHub"]

#: Each event loop has its own; there is one loop in a process, but in tests.
_rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, Rooms] = WeakKeyDictionary()
MOST_BYTES = 64_000_000  #: of all rooms of a process
_kept: dict["RoomMemory", int] = {}  #: bytes, by room
#: What a scene is about: it is not what a look has read.
UNCOUNTED = frozenset({"subject", "group"})


def total() -> int:
    """Bytes that all rooms keep."""
    return sum(_kept.values())


class RoomMemory:
    """What a room keeps from one look to the next: bounded for all rooms of a process together.

    A room keeps what its scene has read and rendered, so that the next look reads, and sends, only what is new. A room
    for which there is no more space keeps nothing: it reads all of it again, sends what changed as whole parts, and
    looks once a second (`scenes.PATIENCE`). Its viewers miss nothing but the moments in between. Made before the first
    look.
    """

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


def hub_of(scene: Scene) -> "BroadcastHub":
    """The room of this scene's subject; made of this scene where there is none."""
    rooms = _rooms.setdefault(asyncio.get_running_loop(), {})
    project = current.get()
    key = (type(scene), scene.subject, project and project.pk)  # a room is of one project, as its tasks are
    if key not in rooms:
        rooms[key] = BroadcastHub(scene, rooms, key)
    return rooms[key]


class BroadcastHub:
    """Begins with its first viewer and ends with its last."""

    def __init__(self, scene: Scene, rooms: Rooms, key: Hashable) -> None:
        self.scene = scene
        self._memory = RoomMemory(scene)
        self._rooms, self._key = rooms, key
        self._viewers: set[Subscriber] = set()
        self._changed, self._wanted = asyncio.Event(), asyncio.Event()
        self._tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._listen())]

    def join(self, viewer: Subscriber) -> None:
        viewer.level.clear()
        viewer.on_readable = self._look_soon
        self._viewers.add(viewer)
        self._look_soon()

    def leave(self, viewer: Subscriber) -> None:
        self._viewers.discard(viewer)
        if not self._viewers:
            self._end()

    def _end(self) -> None:
        self._memory.end()
        if self._rooms.get(self._key) is self:
            del self._rooms[self._key]
        for task in self._tasks:
            task.cancel()

    def _look_soon(self) -> None:
        """For a viewer's sake, so at once."""
        self._wanted.set()
        self._changed.set()

    async def _watch(self) -> None:
        try:
            while True:
                self._wanted.clear()
                self._changed.clear()
                patience = await self._bring_up_to_date()
                await _within(max(PATIENCE, self.scene.pace) if self._memory.is_full else self.scene.pace, self._wanted)
                await _within(patience, self._changed)
        except Exception as error:
            log.warning("live_page_failed", error=str(error), page=type(self.scene).__name__)
            told = [{"type": "websocket.send", "text": text} for text in await self._why(error)]
            # Where nothing is said, the pages connect again and catch up, in a room that begins anew.
            for viewer in self._viewers:
                viewer.take(told, viewer.shows)
                viewer.end(DONE if told else TRY_AGAIN)
            self._end()

    async def _why(self, error: Exception) -> list[str]:
        with contextlib.suppress(Exception):
            return await in_turn(LOOKS, "", self.scene.failing, error)
        return []

    async def _bring_up_to_date(self) -> float | None:
        """Returns after how many seconds to look again unasked; None: not at all."""
        who = next((viewer.who for viewer in self._viewers), "")
        pages = {viewer.shows for viewer in self._viewers} - {LOST}
        news, weight = await in_turn(LOOKS, who, self._look, pages)
        messages = {
            shown: [{"type": "websocket.send", "text": text} for text in texts if text]
            for shown, (texts, _) in news.items()
        }
        over = self.scene.is_over()
        for viewer in self._viewers:
            shown: Any = viewer.shows
            if shown not in news:
                continue  # it came, or was lost, while we looked
            viewer.take(messages[shown], news[shown][1])
            if over and viewer.level.is_set():
                viewer.end(DONE)
        patience = PATIENCE if self.scene.is_waiting() else None
        if self._viewers:
            self._memory.settle(weight)
        return patience

    def _look(self, shown: set[Hashable]) -> tuple[News, int]:
        """What there is to tell, and the bytes that are kept until the next look."""
        self.scene.look()
        return {shows: self.scene.since(shows) for shows in shown}, self._memory.weigh()

    async def _listen(self) -> None:
        """Hear from the layer that something changed, for as long as the room is there."""
        layer = get_channel_layer()
        while True:
            try:
                await self._hear(layer)
            except Exception as error:
                log.warning("live_layer_failed", error=str(error), group=self.scene.group)
                await asyncio.sleep(PATIENCE)

    async def _hear(self, layer: Any) -> None:
        channel = await layer.new_channel()
        try:
            await layer.group_add(self.scene.group, channel)
            self._changed.set()  # by what was said before we listened
            while True:
                await layer.receive(channel)
                self._changed.set()
        finally:
            with contextlib.suppress(Exception):
                await layer.group_discard(self.scene.group, channel)


async def _within(seconds: float | None, event: asyncio.Event) -> None:
    """Until the event is set, or so many seconds have passed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
