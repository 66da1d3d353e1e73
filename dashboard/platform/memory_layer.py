"""The channel layer of one process: Channels' own in memory, where a message costs time only for those who hear it."""

import time
from contextlib import suppress
from typing import Any

from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer

_CLEAN_EVERY = 1.0  #: seconds between two looks for messages that nobody fetched


class MemoryChannelLayer(InMemoryChannelLayer):  # type: ignore[misc] # channels is untyped
    """Channels looks through all messages and all members whenever something is sent or fetched, and makes a task for
    each member that hears it: where 400 pages watch, that is the square of 400 for one change, on the event loop."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._clean_from = 0.0

    def _clean_expired(self) -> None:
        now = time.monotonic()
        if now >= self._clean_from:
            self._clean_from = now + _CLEAN_EVERY
            super()._clean_expired()

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        assert isinstance(message, dict), "Message is not a dict"
        self.require_valid_group_name(group)
        self._clean_expired()
        for channel in list(self.groups.get(group, ())):
            with suppress(ChannelFull):
                await self.send(channel, message)
