"""An ASGI wrapper for clients that put a prefix of their own before each path: Groq's adds `/openai`."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Application = Callable[..., Awaitable[None]]

PREFIX, KEPT = "/openai", "/openai/v1/"


class PathAlias:
    """`application`, which answers `/openai/v1/…` as `/v1/…`."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, *more: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith(KEPT):
            raw = scope.get("raw_path") or b""
            scope = {
                **scope,
                "path": scope["path"].removeprefix(PREFIX),
                "raw_path": raw.removeprefix(PREFIX.encode()),
            }
        await self._application(scope, *more)
