"""This process's judges (`judge_program`), started when the first is needed, and again when one has ended.

Each question goes to a quick judge first. What takes it too long ends it, and goes to the slow one, so that few wait
for the schemas that take all the time they are given.
"""

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import environ
from typing import Any

from dashboard.agents.schema_validation.admission_queue import Places, Turns
from dashboard.agents.schema_validation.judge_overload import JudgesBusy
from dashboard.agents.schema_validation.judge_program import (
    ANSWER,
    INNOCENT,
    QUICK_WALL_SECONDS,
    REQUEST,
    SLOW_WALL_SECONDS,
)
from dashboard.platform.environment import CHECKOUT

QUICK, SLOW = 2, 1  #: judges at once
#: How many may wait for a judge.
QUICK_WAITING, SLOW_WAITING = 256, 8
QUICK_OF_ONE, SLOW_OF_ONE = 32, 2  #: questions of one asker that have a judge or wait for it
_DYING_SECONDS = 0.02  #: from a judge's end until that of its program is seen, if that is why
_MARGIN_SECONDS = 10.0  #: beyond which a judge that should have ended itself is left alone
_RUN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from dashboard.agents.schema_validation.judge_program import main; "
    "main(int(sys.argv[2]))"
)


class SpentError(Exception):
    """The judge has ended: it took too much processor time or memory."""


class _EndedError(Exception):
    """A connection to a judge ended, or the judge, for no fault of what it was asked."""


@dataclass(frozen=True, slots=True)
class Question:
    """`schema` and `value` as JSON."""

    asked: bytes
    schema: bytes
    value: bytes = b""


class _Program:
    """The program that forks judges."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._handing: socket.socket | None = None

    def start(self) -> None:
        """Have it ready, if it is not. Raises OSError."""
        with self._lock:
            if self._handing is None:
                self._begin()

    def open(self) -> socket.socket:
        """A connection to a new judge, which ends with it. Raises OSError."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                ended = self._process is not None and self._process.poll() is not None
                if ended or self._handing is None or not self._handed(theirs):
                    self._begin()
                    if not self._handed(theirs):
                        raise BrokenPipeError
        except OSError:
            ours.close()
            raise
        return ours

    def has_ended(self) -> bool:
        """Whether it is gone, and its judges with it: what they were asked had no part in that."""
        with self._lock:
            if self._process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_DYING_SECONDS)
                    return True
            return False

    def end(self) -> None:
        """Judges that are at work end too."""
        with self._lock:
            self._end()

    def forked(self) -> None:
        """In a child of this process: judges come from the parent's program, which is not the child's to end."""
        self._lock, self._process = threading.Lock(), None

    def _handed(self, theirs: socket.socket) -> bool:
        assert self._handing is not None, "it was started"
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            return socket.send_fds(self._handing, [b"."], [theirs.fileno()]) == 1
        return False

    def _begin(self) -> None:
        self._end()
        self._handing, theirs = socket.socketpair()
        command = [sys.executable, "-P", "-c", _RUN, str(CHECKOUT), str(theirs.fileno())]
        # One arena: the address space of more would count as memory.
        variables = {**environ, "MALLOC_ARENA_MAX": "1"}
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - ours
                command, env=variables, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )

    def _end(self) -> None:
        if self._handing is not None:
            self._handing.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._handing = self._process = None


@dataclass(slots=True)
class _Judges:
    """Those of one kind; `slow` ones are given more time."""

    program: _Program
    most: int
    waiting: int  #: how many may wait for one of them
    of_one: int  #: how many of one asker may have one or wait for it
    slow: bool
    _turns: Turns = field(init=False)
    _line: threading.Semaphore = field(init=False)  #: of who has a judge or waits for one
    _places: Places = field(init=False)
    _free: list[socket.socket] = field(default_factory=list)  #: connections to judges without a question

    def __post_init__(self) -> None:
        self.forget()

    def ask(self, question: Question, who: str) -> Mapping[str, Any]:
        """Raises `SpentError`, `JudgesBusy`."""
        with self._turns.turn(who):
            return self._in_line(question)

    def _in_line(self, question: Question) -> Mapping[str, Any]:
        line, places = self._line, self._places
        if not line.acquire(blocking=False):
            raise JudgesBusy
        try:
            with places.place():
                return self._answer(question)
        finally:
            line.release()

    def forget(self) -> None:
        """Hang up on all of them, which ends them."""
        free, self._free = self._free, []
        self._turns = Turns(self.of_one)
        self._places = Places(self.most)
        self._line = threading.Semaphore(self.most + self.waiting)
        for connection in free:
            connection.close()

    def _answer(self, question: Question) -> Mapping[str, Any]:
        try:
            return self._ask(question)
        except _EndedError:
            if not self.program.has_ended():
                raise JudgesBusy from None
        try:
            return self._ask(question)
        except _EndedError:
            raise JudgesBusy from None

    def _ask(self, question: Question) -> Mapping[str, Any]:
        try:
            connection = self._connection()
        except OSError as error:
            raise JudgesBusy from error
        keeps = False
        try:
            answer, keeps = _exchanged(connection, question, slow=self.slow)
        except (OSError, ValueError) as error:
            raise _EndedError from error
        finally:
            if keeps:
                self._free.append(connection)
            else:
                connection.close()
        if self.slow and answer.get("ended") in INNOCENT:  # whatever ends a quick one, a slow one is asked
            raise _EndedError
        if "ended" in answer or "spent" in answer:
            raise SpentError
        return answer

    def _connection(self) -> socket.socket:
        while self._free:
            connection = self._free.pop()
            if _is_open(connection):
                return connection
            connection.close()
        connection = self.program.open()
        connection.settimeout(_MARGIN_SECONDS + (SLOW_WALL_SECONDS if self.slow else QUICK_WALL_SECONDS))
        return connection


def _exchanged(connection: socket.socket, question: Question, *, slow: bool) -> tuple[Mapping[str, Any], bool]:
    """The answer, and whether its judge takes another question."""
    head = REQUEST.pack(question.asked, slow, len(question.schema), len(question.value))
    connection.sendall(head + question.schema + question.value)
    length, last = ANSWER.unpack(_read(connection, ANSWER.size))
    return json.loads(_read(connection, length)), not last


def _read(connection: socket.socket, length: int) -> bytes:
    pieces = bytearray()
    while len(pieces) < length:
        piece = connection.recv(min(length - len(pieces), 1 << 20))
        if not piece:
            raise _EndedError
        pieces += piece
    return bytes(pieces)


def _is_open(connection: socket.socket) -> bool:
    """Nothing can be read of a judge without a question but its end."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    return not waiting.poll(0)


class JudgeProcesses:
    """Those of this process."""

    def __init__(self) -> None:
        self._program = _Program()
        self._quick = _Judges(self._program, QUICK, QUICK_WAITING, QUICK_OF_ONE, slow=False)
        self._slow = _Judges(self._program, SLOW, SLOW_WAITING, SLOW_OF_ONE, slow=True)

    def start(self) -> None:
        """Have the program loaded before the first question. Raises OSError."""
        self._program.start()

    def ask(self, question: Question, who: str = "") -> Mapping[str, Any]:
        """The answer, and in `seconds` the processor time it took. Raises `SpentError`, and `JudgesBusy`."""
        with contextlib.suppress(SpentError):
            return self._quick.ask(question, who)
        return self._slow.ask(question, who)

    def end(self) -> None:
        for judges in self._all():
            judges.forget()
        self._program.end()

    def forked(self) -> None:
        """Its judges are the parent's."""
        self._program.forked()
        for judges in self._all():
            judges.forget()

    def _all(self) -> Iterator[_Judges]:
        yield self._quick
        yield self._slow


judges = JudgeProcesses()
atexit.register(judges.end)
os.register_at_fork(after_in_child=judges.forked)
