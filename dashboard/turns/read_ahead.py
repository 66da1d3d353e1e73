"""What is read of many turns at once, so that a list costs as many statements as one row of it.

Within `reading_ahead` the readers of nodes, records, attempts and connections answer from what was read; of other
turns, and outside, they ask the database one by one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


@dataclass(slots=True)
class ReadAhead:
    """By turn, unless it says otherwise."""

    nodes: dict[UUID, Any] = field(default_factory=dict)  #: as `nodes.read_all` gives them
    records: dict[UUID, list[Any]] = field(default_factory=dict)  #: whole histories, in order
    first_records: dict[UUID, Any] = field(default_factory=dict)  #: of turns of whose history no more is asked
    attempts: dict[UUID, list[Any]] = field(default_factory=dict)  #: all of a turn, in order
    relatives: dict[UUID, list[Any]] = field(default_factory=dict)  #: the turns that were asked the same
    acts: dict[UUID, list[Any]] = field(default_factory=dict)  #: the records of what operators did
    connections: dict[UUID, list[Any]] = field(default_factory=dict)  #: by project, in order of their ids
    usage: dict[Any, Any] = field(default_factory=dict)  #: what turns like those of the list used of a limit


_NOTHING = ReadAhead()
_read: ContextVar[ReadAhead] = ContextVar("read_ahead", default=_NOTHING)


def read_ahead() -> ReadAhead:
    """What was read; nobody writes to it but who began it."""
    return _read.get()


@contextmanager
def reading_ahead() -> Iterator[ReadAhead]:
    """Empty to begin with; forgotten at the end."""
    token = _read.set(ReadAhead())
    try:
        yield _read.get()
    finally:
        _read.reset(token)
