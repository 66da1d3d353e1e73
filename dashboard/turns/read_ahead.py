"""What is read of many turns at once, so that a list costs as many statements as one row of it.

Within `reading_ahead` the readers of nodes, records, attempts and connections answer from what was read; of other
turns, and outside, they ask the database one by one.

Within either of them, a page or an answer that asks the same of a turn several times reads it once.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

Read = TypeVar("Read")


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
    answers: dict[Hashable, Any] | None = None  #: by question, what was read already; None: it is read each time


_NOTHING = ReadAhead()
_read: ContextVar[ReadAhead] = ContextVar("read_ahead", default=_NOTHING)


def read_ahead() -> ReadAhead:
    """What was read. Outside of both blocks it is empty, and stays so: readers add to it within them only."""
    return _read.get()


@contextmanager
def reading_ahead() -> Iterator[ReadAhead]:
    """Empty to begin with; forgotten at the end."""
    token = _read.set(ReadAhead(answers={}))
    try:
        yield _read.get()
    finally:
        _read.reset(token)


@contextmanager
def reading_once() -> Iterator[None]:
    """Within, nothing is written of what is read `once`. What was read before stays known within another such block."""
    if _read.get() is not _NOTHING:
        yield
        return
    token = _read.set(ReadAhead(answers={}))
    try:
        yield
    finally:
        _read.reset(token)


def once(question: Hashable, reader: Callable[[], Read]) -> Read:
    """What the reader gives; within such a block what it gave for the same question before."""
    answers = _read.get().answers
    if answers is None:
        return reader()
    if question not in answers:
        answers[question] = reader()
    found: Read = answers[question]
    return found
