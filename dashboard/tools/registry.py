"""The tools of this program, by name."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dashboard.tools.functions import tool_of
from dashboard.tools.tool import MAX_CHARS, TIMEOUT, Tool, always

F = TypeVar("F", bound=Callable[..., Any])


class Registry:
    """Typed callables under their own names."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def tool(
        self,
        *,
        timeout: float = TIMEOUT,
        max_chars: int = MAX_CHARS,
        idempotent: bool = False,
        offered: Callable[[], bool] = always,
    ) -> Callable[[F], F]:
        """Register a function, which stays what it is. Raises ValueError for a name that is taken or an MCP tool's."""

        def register(function: F) -> F:
            made = tool_of(function, timeout=timeout, max_chars=max_chars, idempotent=idempotent, offered=offered)
            if made.name in self._tools or "__" in made.name:
                raise ValueError(
                    f"A tool cannot be named {made.name}: the name exists, or is reserved for MCP servers."
                )
            self._tools[made.name] = made
            return function

        return register

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        """Those that are there to be chosen, by name."""
        return iter(sorted((tool for tool in self._tools.values() if tool.offered()), key=lambda tool: tool.name))


registry = Registry()
