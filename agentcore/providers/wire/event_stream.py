"""AWS's binary framing (application/vnd.amazon.eventstream), in any chunking and in linear time.

A message is a prelude (its length, its headers' length, a CRC-32 of both; big-endian), headers, a payload, and a CRC-32
of all before it. Source: the Smithy specification, "Amazon Event Stream".
"""

import base64
import struct
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from agentcore.errors import CHECK_BASE_URL, DecodeError
from agentcore.providers.wire.untrusted_json import mapping, read_json

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_LENGTH = struct.Struct(">H")
_FRAME = _PRELUDE.size + _CRC.size  # what a message has beside its headers and its payload
_MOST_BYTES = 24 * 1024 * 1024
_MOST_HEADER_BYTES = 128 * 1024
_STRING = 7
# Bytes of a header's value by its type; those that are absent say their length themselves.
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_WITH_LENGTH = frozenset({6, _STRING})


class EventStreamMessage(NamedTuple):
    """One message: its headers that are text (`:message-type`, `:event-type` …) and its payload."""

    headers: Mapping[str, str]
    payload: bytes


class EventStreamReader:
    """Cuts bytes into messages. After a message whose checksums or lengths are wrong nothing more is read."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._wanted = _PRELUDE.size
        self._read_any = False
        self._damaged = False

    def feed(self, data: bytes) -> list[EventStreamMessage]:
        """The messages that these bytes complete; DecodeError where not even the first one is sound."""
        if self._damaged:
            return []
        self._bytes += data
        messages: list[EventStreamMessage] = []
        try:
            while len(self._bytes) >= self._wanted:
                self._step(messages)
        except ValueError as error:
            self._damaged = True
            if not (self._read_any or messages):
                raise DecodeError(
                    f"The provider's event stream cannot be read: {error}", advice=CHECK_BASE_URL
                ) from error
        self._read_any = self._read_any or bool(messages)
        return messages

    def _step(self, messages: list[EventStreamMessage]) -> None:
        """Reads a prelude, which tells how many bytes its message has, or the message itself."""
        if self._wanted == _PRELUDE.size:
            self._wanted = _read_prelude(self._bytes)
            return
        with memoryview(self._bytes) as held:
            message = bytes(held[: self._wanted])
        del self._bytes[: self._wanted]
        self._wanted = _PRELUDE.size
        messages.append(_read_message(message))


def payload_of(message: EventStreamMessage) -> Any:
    """What a message says, as JSON: an event under its name, an exception under `error`, None for what is none.

    A `chunk` (InvokeModelWithResponseStream) wraps an event of the model's own vendor, which is returned bare.
    """
    kind = message.headers.get(":message-type", "event")
    payload = _json(message.payload)
    if kind == "exception":
        return {"error": {**mapping(payload), "code": message.headers.get(":exception-type", "")}}
    if kind == "error":
        said = {"code": message.headers.get(":error-code", ""), "message": message.headers.get(":error-message", "")}
        return {"error": said}
    name = message.headers.get(":event-type", "")
    wrapped = mapping(payload).get("bytes")
    if name == "chunk" and isinstance(wrapped, str):
        try:
            return _json(base64.b64decode(wrapped))
        except ValueError:
            return None
    return {name: payload} if name else payload


def _json(data: bytes) -> Any:
    try:
        return read_json(data)
    except ValueError:
        return None


def _read_prelude(data: bytearray) -> int:
    """The length of the message that begins here."""
    length, header_length, crc = _PRELUDE.unpack_from(data)
    if zlib.crc32(data[:8]) != crc:
        raise ValueError("the checksum of a message's prelude is wrong.")
    if not _FRAME + header_length <= length <= _MOST_BYTES or header_length > _MOST_HEADER_BYTES:
        raise ValueError("a message has an impossible length.")
    return int(length)


def _read_message(message: bytes) -> EventStreamMessage:
    _, header_length, _ = _PRELUDE.unpack_from(message)
    end = len(message) - _CRC.size
    if zlib.crc32(memoryview(message)[:end]) != _CRC.unpack_from(message, end)[0]:
        raise ValueError("the checksum of a message is wrong.")
    start = _PRELUDE.size + header_length
    return EventStreamMessage(_read_headers(message[_PRELUDE.size : start]), message[start:end])


def _read_headers(data: bytes) -> dict[str, str]:
    headers, at = {}, 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name, kind, at = data[at + 1 : name_end], data[name_end], name_end + 1
            if kind in _WITH_LENGTH:
                size, at = _LENGTH.unpack_from(data, at)[0], at + _LENGTH.size
            else:
                size = _FIXED[kind]
            if at + size > len(data):
                raise IndexError
            if kind == _STRING:
                headers[name.decode("utf-8", "replace")] = data[at : at + size].decode("utf-8", "replace")
            at += size
    except (IndexError, KeyError, struct.error) as error:
        raise ValueError("the headers of a message cannot be read.") from error
    return headers
