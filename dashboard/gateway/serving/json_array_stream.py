"""Streams of the Gemini API without `alt=sse`: one JSON array, element by element.

All of the gateway speaks in events; they become elements at the very last, each the same bytes.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Send = Callable[[Mapping[str, Any]], Awaitable[None]]

_KIND, _EVENTS = b"content-type", b"text/event-stream"
_JSON = b"application/json; charset=utf-8"


class JsonArrayStream:
    """`send` for an answer whose events are told as the elements of an array; one that is no stream goes as it is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._streams = False
        self._line: list[bytes] = []  #: that has not ended yet, as it came: put together each time, it would be copied
        self._opened = False

    async def __call__(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            await self._send({**message, "headers": self._headers(message["headers"])})
        elif self._streams:
            await self._tell(message.get("body", b""), more=message.get("more_body", False))
        else:
            await self._send(message)

    def _headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        self._streams = any(name == _KIND and value.startswith(_EVENTS) for name, value in headers)
        return [(name, _JSON if self._streams and name == _KIND else value) for name, value in headers]

    async def _tell(self, data: bytes, *, more: bool) -> None:
        told = b"".join(self._element(line) for line in self._lines(data) if line.startswith(b"data:"))
        if not more:
            told += b"]" if self._opened else b"[]"
        elif not told and data.isspace():
            told = b"\n"  # said so that nothing between us takes the answer for dead
        if told or not more:
            await self._send({"type": "http.response.body", "body": told, "more_body": more})

    def _lines(self, data: bytes) -> list[bytes]:
        """Those that end in it."""
        whole, ends, rest = data.rpartition(b"\n")
        if not ends:
            self._line.append(rest)
            return []
        lines = b"".join((*self._line, whole)).split(b"\n")
        self._line = [rest]
        return lines

    def _element(self, line: bytes) -> bytes:
        before, self._opened = b",\r\n" if self._opened else b"[", True
        return before + line.removeprefix(b"data:").strip()
