"""What an MCP server may say of itself, judged in words. Pure: no database, no environment, no network."""

import re
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError

from dashboard.agents.validation import base_url_valid

SERVER_NAME = re.compile(r"[A-Za-z0-9-]{1,24}")
HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")
#: Headers that belong to the transport.
TAKEN_HEADERS = ("accept", "content-length", "content-type", "host", "mcp-", "transfer-encoding")
MAX_DOCUMENT_NAME_CHARS = 200
MAX_ARGS = 64
MAX_ARG_CHARS = 2_000


def server_name_valid(value: str) -> None:
    """It begins the names of its tools, as providers take them."""
    if not SERVER_NAME.fullmatch(value):
        raise ValidationError("A server's name has 1 to 24 letters a–z, digits and dashes.")


def args_valid(value: Any) -> None:
    """The arguments of a command: a list of texts."""
    good = isinstance(value, list) and len(value) <= MAX_ARGS
    if not good or not all(isinstance(arg, str) and len(arg) <= MAX_ARG_CHARS and "\x00" not in arg for arg in value):
        raise ValidationError(f'The arguments are a JSON list of at most {MAX_ARGS} texts, such as ["--root", "/srv"].')


def header_valid(value: str) -> None:
    if not HEADER_NAME.fullmatch(value) or value.lower().startswith(TAKEN_HEADERS):
        raise ValidationError("A key cannot be sent in this header. The usual header is Authorization.")


def transport_faults(*, transport: str, url: str, command: str, stdio_allowed: bool) -> dict[str, str]:
    """What is wrong with a server's address or command, by field."""
    if transport == "http":
        return _http_faults(url, command)
    if not stdio_allowed:
        return {
            "transport": "Commands run only if Whystop was started with WHYSTOP_MCP_STDIO=1, because anyone who may "
            "edit this form can then run any program on its machine."
        }
    faults = {} if command.strip() else {"command": "Give the command that starts the server."}
    return faults | ({"url": "A command has no address; leave it empty."} if url else {})


def _http_faults(url: str, command: str) -> dict[str, str]:
    faults: dict[str, str] = {}
    try:
        base_url_valid(url)
    except ValidationError as error:
        faults["url"] = error.messages[0]
    return faults | ({"command": "A server at an address needs no command; leave it empty."} if command else {})


def documents_faults(names: Sequence[str], sizes: Sequence[int], *, most: int, most_chars: int) -> list[str]:
    """What is wrong with the documents of a turn."""
    faults: list[str] = []
    if len(names) > most:
        faults.append(f"There are {len(names):,} documents; a turn takes at most {most}.")
    if sum(sizes) > most_chars:
        faults.append(f"The documents have {sum(sizes):,} characters together; a turn takes at most {most_chars:,}.")
    if len(set(names)) < len(names):
        faults.append("Two documents have the same name; give each its own.")
    if any(not name.strip() or len(name) > MAX_DOCUMENT_NAME_CHARS for name in names):
        faults.append(f"Each document needs a name of 1 to {MAX_DOCUMENT_NAME_CHARS} characters.")
    return faults
