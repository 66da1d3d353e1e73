"""Reading text below one folder, WHYSTOP_FILES_DIR, and nothing else of this machine.

A path is opened part by part, each below the descriptor of the one before and none through a symbolic link: there is no
moment between looking and opening in which somebody could put a link in the way.
"""

import errno
import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from django.conf import settings
from pydantic import Field

from dashboard.tools.registry import registry
from dashboard.tools.tool import ToolProblem

MAX_BYTES = 10_000_000
MAX_LINES = 2_000
MAX_NAMES = 200
#: Without O_NONBLOCK, opening a named pipe would wait for its other end.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _offered() -> bool:
    return settings.FILES_DIR is not None


@registry.tool(idempotent=True, offered=_offered)
def read_file(
    path: Annotated[str, Field(description="Below the shared folder, such as notes/plan.txt. “.” lists the folder.")],
    offset: Annotated[int, Field(ge=1, description="The first line to return, from 1.")] = 1,
    limit: Annotated[int, Field(ge=1, le=MAX_LINES, description="How many lines to return.")] = 400,
) -> str:
    """Read lines of a text file in the shared folder, or list the names in a folder of it."""
    if settings.FILES_DIR is None:
        raise ToolProblem("No folder is shared here: WHYSTOP_FILES_DIR is not set.")
    with ExitStack() as opened:
        descriptor = _open(settings.FILES_DIR, _parts(path), opened)
        facts = os.fstat(descriptor)
        if stat.S_ISDIR(facts.st_mode):
            return _names(path, descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ToolProblem(f"“{path}” is not a regular file.")
        return _lines(path, _text(path, descriptor, facts.st_size), offset, limit)


def _parts(path: str) -> list[str]:
    if path.startswith("/") or "\x00" in path or "\\" in path:
        raise ToolProblem("The path must be relative, with “/” between its parts.")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ToolProblem("The path must not go up: “..” is not followed.")
    return parts


def _open(root: Path, parts: list[str], opened: ExitStack) -> int:
    """A descriptor of what the path names; `opened` closes it and those on the way."""
    try:
        descriptor = os.open(root.resolve(), _FLAGS | os.O_DIRECTORY)
        opened.callback(os.close, descriptor)
        for part in parts:
            descriptor = os.open(part, _FLAGS, dir_fd=descriptor)
            opened.callback(os.close, descriptor)
    except OSError as error:
        place = "/".join(parts) or "."
        raise ToolProblem(f"“{place}” cannot be read: {_why(error)}.") from None
    return descriptor


def _why(error: OSError) -> str:
    words = {
        FileNotFoundError: "there is no such file",
        NotADirectoryError: "a part of the path is no folder",
        PermissionError: "it is not permitted",
    }
    return words.get(
        type(error), "symbolic links are not followed" if error.errno == errno.ELOOP else f"{error.strerror}"
    )


def _names(path: str, descriptor: int) -> str:
    names = sorted(os.listdir(descriptor))
    more = f"\n… and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return f"“{path}” is a folder with {len(names):,} names:\n" + "\n".join(names[:MAX_NAMES]) + more


def _text(path: str, descriptor: int, size: int) -> str:
    if size > MAX_BYTES:
        raise ToolProblem(f"“{path}” has {size:,} bytes; at most {MAX_BYTES:,} are read.")
    with os.fdopen(os.dup(descriptor), "rb") as file:
        raw = file.read(MAX_BYTES)
    if b"\x00" in raw:
        raise ToolProblem(f"“{path}” is not a text file: it contains zero bytes.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ToolProblem(f"“{path}” is not UTF-8 text.") from None


def _lines(path: str, text: str, offset: int, limit: int) -> str:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    chosen = lines[offset - 1 : offset - 1 + limit]
    if not chosen:
        return f"“{path}” has {len(lines):,} lines; none from line {offset:,} on."
    head = f"“{path}”, lines {offset:,} to {offset - 1 + len(chosen):,} of {len(lines):,}:"
    return "\n".join([head, *chosen])
