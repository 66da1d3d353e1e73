"""HTML for browsers, JSON for `?format=json`, at the same address."""

from collections.abc import Awaitable, Callable
from typing import Any

from django.http import QueryDict

from dashboard.api.sockets import TurnSocket

Application = Callable[[Any, Any, Any], Awaitable[None]]


def by_format(page: Application) -> Any:
    """The socket of a turn for whoever asks."""
    program: Application = TurnSocket.as_asgi()

    async def either(scope: Any, receive: Any, send: Any) -> None:
        given = QueryDict(scope.get("query_string", b"").decode("latin1"))
        await (program if given.get("format") == "json" else page)(scope, receive, send)

    return either
