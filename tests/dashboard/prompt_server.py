"""The server of the product, for tests that start and end one each."""

import asyncio
from itertools import count

import uvicorn


class PromptServer(uvicorn.Server):
    """It ends soon after it was told to; uvicorn's own looks ten times a second whether it was."""

    async def main_loop(self) -> None:
        for tick in count():
            if await self.on_tick(tick):
                return
            await asyncio.sleep(0.01)
