"""AWS's binary framing (application/vnd.amazon.eventstream): one JSON value as one message.

A message is a prelude (its length, its headers' length, a CRC-32 of both), headers, a payload, and a CRC-32 of all
before it. Source: the Smithy specification, "Amazon Event Stream".
"""

import struct
import zlib
from collections.abc import Mapping

_STRING = 7


def event_message(name: str, payload: bytes) -> bytes:
    """An event of this name, whose payload is JSON."""
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return _message(headers, payload)


def _message(headers: Mapping[str, str], payload: bytes) -> bytes:
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    message = prelude + _crc(prelude) + head + payload
    return message + _crc(message)


def _header(name: str, value: str) -> bytes:
    name_bytes, value_bytes = name.encode(), value.encode()
    return struct.pack(f">B{len(name_bytes)}sBH", len(name_bytes), name_bytes, _STRING, len(value_bytes)) + value_bytes


def _crc(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))
