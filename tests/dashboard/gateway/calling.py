"""Asking the gateway's door as its callers do."""

import asyncio
from collections.abc import Callable

from dashboard.gateway.access.authentication import Caller, Refusal, caller_of

GPT = {"provider": "openai", "model": "gpt-4o", "address": "https://api.openai.com/v1/chat/completions"}


def bearing(secret: str) -> list[tuple[bytes, bytes]]:
    return [(b"host", b"here"), (b"authorization", f"Bearer {secret}".encode())]


async def who(secret: str) -> Caller | Refusal:
    return await caller_of(bearing(secret))


async def caller(secret: str) -> Caller:
    found = await who(secret)
    assert isinstance(found, Caller), found
    return found


async def becomes(secret: str, wanted: Callable[[Caller | Refusal], bool]) -> None:
    """Wait until the door answers so."""
    async with asyncio.timeout(60):
        while not wanted(await who(secret)):
            await asyncio.sleep(0.01)
