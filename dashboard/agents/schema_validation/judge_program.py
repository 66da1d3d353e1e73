"""The program that judges run in: it loads the validator once, and then forks a judge for each connection it is handed.

A judge answers one request after another, and ends with its connection. Before each it sets its own clocks: when the
processor time or the time of day is over, the system ends it, whatever it is at. It ends too when it needs too much
memory, and when the program ends. How a judge ended, the program says in its place.
"""

import contextlib
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: What is asked, whether it may be slow, and how long the schema and the value are, which follow as JSON.
REQUEST = struct.Struct("!c?II")
#: How long the answer is, and whether it is the judge's last.
ANSWER = struct.Struct("!I?")
VIOLATIONS, FAULT = b"v", b"f"

MOST_MEMORY = 512 * 1024 * 1024  #: bytes, beyond what a judge has when it begins
QUICK_SECONDS, SLOW_SECONDS = 0.1, 1.0  #: of processor time
QUICK_WALL_SECONDS, SLOW_WALL_SECONDS = 2.0, 20.0  #: a busy machine gives a judge a part of its time
_MOST_REQUESTS = 1_000  #: of one judge
_MOST_KEPT = 48 * 1024  #: kilobytes more than at its beginning, with which a judge takes no further request
#: How much judges give way to the server.
_QUICK_POLITE, SLOW_POLITE = 2, 5
_DIES_WITH_PARENT = 1  #: PR_SET_PDEATHSIG
_ENDING = (signal.SIGPROF, signal.SIGALRM, signal.SIGPIPE)
#: What ends a judge for no fault of what it was asked: the time of day, because the machine is busy, and who kills it.
INNOCENT = frozenset(-number for number in (signal.SIGALRM, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP))
_SPENT: Mapping[str, Any] = {"spent": True}


def main(descriptor: int) -> None:
    """Fork a judge for each connection that arrives, until the server is gone."""
    # A terminal, or a supervisor, sends these to the whole group; the server ends this one by hanging up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(_QUICK_POLITE)
    answering, tie = _loaded(), _tie()
    judging: dict[int, socket.socket] = {}  #: the connection of each judge, by its process
    with socket.socket(fileno=descriptor) as arriving, _waking() as woken:
        while descriptors := _arrived(arriving, woken, judging):
            connection = socket.socket(fileno=descriptors[0])
            if (judge := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                for other in (arriving, woken, *judging.values()):
                    other.close()
                _judge(answering, tie, connection)
            judging[judge] = connection


@contextlib.contextmanager
def _waking() -> Iterator[socket.socket]:
    """What can be read from once a judge has ended."""
    woken, waking = socket.socketpair()
    waking.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    with woken, waking:
        yield woken


def _arrived(arriving: socket.socket, woken: socket.socket, judging: dict[int, socket.socket]) -> list[int]:
    """The next connection; none: the server is gone. Meanwhile it is said of judges how they ended."""
    while True:
        ready = select.select([arriving, woken], [], [])[0]
        if woken in ready:
            woken.recv(4_096)
            _tell_ends(judging)
        if arriving in ready:
            return socket.recv_fds(arriving, 1, 1)[1]


def _tell_ends(judging: dict[int, socket.socket]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            judge, status = ended
            said = json.dumps({"ended": os.waitstatus_to_exitcode(status)}).encode()
            with judging.pop(judge) as connection, contextlib.suppress(OSError):
                connection.send(ANSWER.pack(len(said), True) + said, socket.MSG_DONTWAIT)


def _loaded() -> Callable[[bytes, Any, Any], dict[str, Any]]:
    """The validator, with everything that its first use loads."""
    from agentcore.schema import jsonschema_rs_validator
    from dashboard.agents.schema_validation.schema_faults import fault_of

    validate = jsonschema_rs_validator()
    validate({"type": "object", "properties": {"a": {"pattern": "a"}}}, {"a": 1})

    def answered(asked: bytes, schema: Any, value: Any) -> dict[str, Any]:
        if asked == FAULT:
            return {"fault": fault_of(schema)}
        return {"found": [[v.pointer, v.schema_pointer, v.keyword, v.message] for v in validate(schema, value)]}

    return answered


def _tie() -> Callable[[], None]:
    """What makes a process end with its parent, where the system can do that."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        prctl = ctypes.CDLL(None).prctl
        return lambda: prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    return lambda: None


def _judge(answering: Callable[[bytes, Any, Any], dict[str, Any]], tie: Callable[[], None], of: socket.socket) -> None:
    """In a forked process, which ends here."""
    try:
        tie()
        for number in (*_ENDING, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        from dashboard.platform.process_limits import limit_process

        limit_process(memory=MOST_MEMORY, seconds=int(_MOST_REQUESTS * SLOW_SECONDS) + 60)
        _answer_all(answering, of)
        os._exit(0)
    except BaseException:
        os._exit(1)


def _answer_all(answering: Callable[[bytes, Any, Any], dict[str, Any]], of: socket.socket) -> None:
    had = _memory()
    with of.makefile("rwb") as stream:
        for number in range(1, _MOST_REQUESTS + 1):
            head = stream.read(REQUEST.size)
            if len(head) < REQUEST.size:
                return
            asked, slow, of_schema, of_value = REQUEST.unpack(head)
            schema, value = stream.read(of_schema), stream.read(of_value)
            if slow and number == 1:
                os.nice(SLOW_POLITE - _QUICK_POLITE)
            said = _limited(answering, asked, schema, value, slow=slow)
            last = said is _SPENT or number == _MOST_REQUESTS or _memory() - had > _MOST_KEPT
            answer = json.dumps(said).encode()
            stream.write(ANSWER.pack(len(answer), last) + answer)
            stream.flush()
            if last:
                return


def _limited(
    answering: Callable[[bytes, Any, Any], dict[str, Any]], asked: bytes, schema: bytes, value: bytes, *, slow: bool
) -> Mapping[str, Any]:
    """The answer, if it is found in time; else the system ends this process."""
    from agentcore.errors import CoreError

    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SLOW_SECONDS if slow else QUICK_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, SLOW_WALL_SECONDS if slow else QUICK_WALL_SECONDS)
    try:
        said = answering(asked, json.loads(schema), json.loads(value) if value else None)
        return {**said, "seconds": round(time.process_time() - began, 4)}
    except MemoryError:
        return _SPENT
    except CoreError as error:
        seconds = round(time.process_time() - began, 4)
        return {"refused": [type(error).__name__, str(error)], "seconds": seconds}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _memory() -> int:
    """The most that this process has had, in kilobytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // 1024 if sys.platform == "darwin" else most
