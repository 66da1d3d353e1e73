"""How a server's tool is called. An agent chooses `server.tool`; providers take only letters, digits, `_` and `-`."""

import hashlib
import re

MAX_WIRE_CHARS = 64
_BAD = re.compile(r"[^A-Za-z0-9_-]")


def chosen_name(server: str, tool: str) -> str:
    return f"{server}.{tool}"


def wire_name(server: str, tool: str) -> str:
    """`server__tool`. Where that does not fit, the tool's part is cut and a digest of it keeps names apart.

    A server's name has no underscore: what stands before the first `__` is the server.
    """
    plain = f"{server}__{_BAD.sub('_', tool)}"
    if plain == f"{server}__{tool}" and len(plain) <= MAX_WIRE_CHARS:
        return plain
    digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[: MAX_WIRE_CHARS - len(digest) - 1]}_{digest}"
