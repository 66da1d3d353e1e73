"""Processes as Linux shows them."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def children_of(pid: int) -> list[int]:
    """Those that run; one that has ended and was not waited for is none."""
    found = []
    for stat in PROC.glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state != "Z":
                found.append(int(stat.parent.name))
    return found


def runs(pid: int) -> bool:
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def command_of(pid: int) -> str:
    """The last word of its command; empty where it has ended."""
    try:
        return (PROC / str(pid) / "cmdline").read_text().rstrip("\0").rpartition("\0")[2]
    except OSError:
        return ""


def serves(pid: int, port: int) -> bool:
    """Whether it has the other end of the connection that a client on this machine has at this port."""
    return bool(set(_sockets_of(pid)) & set(_connected_to(port)))


def _sockets_of(pid: int) -> Iterator[str]:
    for descriptor in (PROC / str(pid) / "fd").glob("*"):
        with suppress(OSError):
            yield str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]")


def _connected_to(port: int) -> Iterator[str]:
    for line in (PROC / "net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        if int(columns[2].rpartition(":")[2], 16) == port:
            yield columns[9]
