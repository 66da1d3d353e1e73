"""The connection to a process that answers a replay: what it is sent, and how it is ended."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dashboard.api.rate_limits import QUOTA

LONGEST_LINE = 1_000_000  #: bytes, of what a process writes
_ENDING_SECONDS = 5.0
_SCOPE = ("type", "http_version", "method", "scheme", "path", "root_path", "client", "server")


def head_of(scope: Mapping[str, Any], length: int) -> bytes:
    """As `replay_process` reads it."""
    told = {name: scope[name] for name in _SCOPE if name in scope}
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    told |= {"query_string": scope.get("query_string", b"").decode("latin-1"), "headers": headers, "length": length}
    quota = scope.get(QUOTA)
    told["quota"] = None if quota is None else asdict(quota)
    return json.dumps(told).encode() + b"\n"


async def end_of(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Have a process end, and wait for it; whether it has."""
    try:
        async with asyncio.timeout(_ENDING_SECONDS):
            writer.write_eof()
            await reader.read()
    except TimeoutError:
        return False
    except OSError:
        return True
    finally:
        writer.close()
    return True
