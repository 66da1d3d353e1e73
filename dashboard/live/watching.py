"""A socket that looks for itself alone, where what it shows is its own; what many show alike has a room (`rooms`).

A message of the layer says only that something changed. It may be dropped, so a page that waits for something looks by
itself each second; it may come a thousand times, so a page looks at most every `PACE` seconds.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from typing import Any

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from django.http import QueryDict

from dashboard.live.entering import REFUSED
from dashboard.live.offload import in_database
from dashboard.live.rooms import TRY_AGAIN
from dashboard.live.scenes import PACE, PATIENCE

log = structlog.get_logger(__name__)


class Watcher(AsyncWebsocketConsumer, ABC):  # type: ignore[misc] # channels is untyped
    """A socket that pushes HTML fragments; each replaces the element of its id."""

    group = ""
    pace = PACE

    @abstractmethod
    def begin(self, given: QueryDict, /, **route: Any) -> None:
        """Take up what the page shows already. Called once, in the loop: no database."""

    @abstractmethod
    def news(self) -> list[str]:
        """The fragments that differ from what the page shows, a message each; empty ones are not sent.

        Called in a thread.
        """

    @abstractmethod
    def is_waiting(self) -> bool:
        """Whether to look again unasked after `PATIENCE`."""

    def is_over(self) -> bool:
        """Whether nothing can change any more; the socket then closes for good."""
        return False

    async def connect(self) -> None:
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            await self.close(code=REFUSED)
            return
        given = QueryDict(self.scope.get("query_string", b"").decode("latin1"))
        self.begin(given, **self.scope["url_route"]["kwargs"])
        self._changed = asyncio.Event()
        if self.channel_layer is not None:
            await self.channel_layer.group_add(self.group, self.channel_name)
        await self.accept()
        self._task = asyncio.create_task(self._watch())

    async def disconnect(self, _code: int) -> None:
        task: asyncio.Task[None] | None = getattr(self, "_task", None)
        if task is None:
            return
        if self.channel_layer is not None:
            await self.channel_layer.group_discard(self.group, self.channel_name)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def turn_changed(self, _: dict[str, Any]) -> None:
        """The layer's word that a record was written."""
        self._changed.set()

    async def turn_draft(self, _: dict[str, Any]) -> None:
        """The layer's word that more of an answer has come."""
        self._changed.set()

    async def _watch(self) -> None:
        try:
            while True:
                self._changed.clear()
                for fragments in filter(None, await in_database(self.news)):
                    await self.send(text_data=fragments)
                if self.is_over():
                    await self.close()
                    return
                await asyncio.sleep(self.pace)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), PATIENCE if self.is_waiting() else None)
        except Exception as error:
            # Whatever it was, the page connects again and catches up.
            log.warning("live_page_failed", error=str(error), page=type(self).__name__)
            await self.close(code=TRY_AGAIN)
