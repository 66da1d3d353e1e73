"""Authenticates gateway calls by key or token from the cache, without a query for each.

What is revoked, changed or made elsewhere counts within a second or two. Rate limits and budgets of tokens are exact
within a process, and within those that one supervisor started; others know each other's counts a second late, so
together they may let through what they take in within that second. A call's tokens count once it has ended, so calls
under way may go beyond a budget.

    caller = await caller_of(scope["headers"])            # Caller | Refusal
    target = caller.aliases.get(model)                    # what a name stands for, where it is an alias
    refusal = caller.allows(agent=…, connection=…, model=…) or await caller.admit()
    …
    caller.charge(usage, provider=…, model=…, address=…)  # once for each call upstream

A `Refusal` knows its status, `body()` and `headers()`. `caller.mode`, where it is set, wins over the agent's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from weakref import WeakKeyDictionary

from dashboard.accounts.credentials import bearer_of, digest_of
from dashboard.gateway.access import refusals
from dashboard.gateway.access.callers import Caller, Target
from dashboard.gateway.access.key_cache import KeyCache
from dashboard.gateway.access.refusals import Refusal

__all__ = ["Caller", "Refusal", "Target", "caller_of", "close", "open_call"]

_BARE = (b"x-api-key", b"x-goog-api-key")  #: with nothing before the secret: Anthropic's, Google's
_HEADERS = frozenset({b"authorization", *_BARE})
_keys: WeakKeyDictionary[asyncio.AbstractEventLoop, KeyCache] = WeakKeyDictionary()


async def caller_of(headers: Iterable[tuple[bytes, bytes]]) -> Caller | Refusal:
    """Who calls, by the headers as ASGI gives them: `authorization`, else one of those that other dialects' clients
    send. A session does not count here: clients send keys."""
    told = {name: value.decode("latin-1").strip() for name, value in headers if name in _HEADERS}
    secret = bearer_of(told.get(b"authorization", "")) or next((told[name] for name in _BARE if told.get(name)), "")
    if not secret:
        return refusals.NO_KEY
    return await _keys_of_loop().caller_of(digest_of(secret))


def open_call(caller: Caller, end: Callable[[], None]) -> AbstractContextManager[None]:
    """While a call of this caller is under way: `end` is called within a second or two after its key or token was
    revoked or has expired, or its user may call no more."""
    return _keys_of_loop().open_call(caller.digest, end)


async def close() -> None:
    """Write what was counted on this loop. Call it when the server stops, before the database does."""
    keys = _keys.pop(asyncio.get_running_loop(), None)
    if keys is not None:
        await keys.close()


def _keys_of_loop() -> KeyCache:
    loop = asyncio.get_running_loop()
    keys = _keys.get(loop)
    if keys is None:
        keys = _keys[loop] = KeyCache()
    return keys
