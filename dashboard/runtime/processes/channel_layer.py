"""The channel layer where several processes serve: in memory, and through the supervisor to the processes whose pages
listen. Without such pages nothing is sent. As any layer it may drop a message: pages look each second by themselves."""

import asyncio
from typing import Any

from dashboard.platform.memory_layer import MemoryChannelLayer
from dashboard.runtime.processes.link import link
from dashboard.runtime.processes.messages import Listening, News


class RelayedChannelLayer(MemoryChannelLayer):
    """In memory, and to the processes beside this one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        assert link is not None, "this process has others beside it"
        self._link = link
        self._listens: set[str] = set()
        self._passing: set[asyncio.Task[None]] = set()
        link.on_news = self._pass_on

    async def group_add(self, group: str, channel: str) -> None:
        await super().group_add(group, channel)
        if group not in self._listens:
            self._listens.add(group)
            self._link.send(Listening(group, listens=True))

    async def group_discard(self, group: str, channel: str) -> None:
        await super().group_discard(group, channel)
        if group in self._listens and not self.groups.get(group):
            self._listens.discard(group)
            self._link.send(Listening(group, listens=False))

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if group in self._link.wanted:
            self._link.send(News(group, message))
        await super().group_send(group, message)

    def _pass_on(self, news: News) -> None:
        """What another process said, to the pages of this one."""
        task = asyncio.create_task(super().group_send(news.group, dict(news.message)))
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)
