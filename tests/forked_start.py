"""Starts `manage.py …` as a process whose modules are loaded already: half of what a start costs is to import them.

One process for each worker of a run has loaded them, and is split for every start (`tests.forker`). What comes of that
is a child of this process like any other, with its own session, descriptors and exit code: it can be signalled, killed
and waited for. What tests of a start itself ask, they ask of a fresh one: `subprocess.Popen`.
"""

import atexit
import ctypes
import functools
import inspect
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from tests.first_start import CHECKOUT, OURS
from tests.forker import MOST

PR_SET_CHILD_SUBREAPER = 36
#: What a program says is taken.
BOTH = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
PROGRAM = (sys.executable, "manage.py")
_libc = ctypes.CDLL(None, use_errno=True)
_lock = threading.Lock()


class Popen(subprocess.Popen):
    """As `subprocess.Popen`, of `python manage.py …` in the checkout, and nothing that is done before its start."""

    def _execute_child(self, *given: Any) -> None:
        told = inspect.signature(super()._execute_child).bind(*given).arguments
        if tuple(told["args"][:2]) != PROGRAM or told["cwd"] != CHECKOUT or told["preexec_fn"] or told["pass_fds"]:
            super()._execute_child(*given)
            return
        asked = {
            "words": [*map(str, told["args"][1:])],
            "environment": dict(os.environ if told["env"] is None else told["env"]),
            "folder": str(told["cwd"]),
            "new_session": told["start_new_session"],
        }
        ours = [told[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        self.pid = _split(asked, [number if given == -1 else given for number, given in enumerate(ours)])
        self._child_created = True
        names = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(told[name] for name in names))


def run(
    words: Sequence[str], *, env: Mapping[str, str], input: str | None = None, timeout: float | None = None,
    check: bool = False, **pipes: Any,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """`manage.py` with these words, as `subprocess.run` would."""
    if input is not None:
        pipes["stdin"] = subprocess.PIPE
    with Popen([*PROGRAM, *words], cwd=CHECKOUT, env=env, text=True, **pipes) as process:
        try:
            output, errors = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def _split(asked: Mapping[str, Any], descriptors: Sequence[int]) -> int:
    """The new process's id. It is ours while we adopt whose parent has ended, and no other is meant."""
    message = json.dumps(asked).encode()
    assert len(message) < MOST
    with _lock:
        control = _forker(os.getpid())
        _adopt(1)
        try:
            socket.send_fds(control, [message], descriptors)
            return int(control.recv(20))
        finally:
            _adopt(0)


def _adopt(whether: int) -> None:
    if _libc.prctl(PR_SET_CHILD_SUBREAPER, whether, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "nobody is adopted")


@functools.cache
def _forker(_of: int) -> socket.socket:
    """How the process that is split is talked to; it ends when we do."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, its):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    given = {"WHYSTOP_DATA_DIR": tempfile.gettempdir(), "WHYSTOP_SECRET_KEY": "of nobody"}
    command = [sys.executable, "-m", "tests.forker", str(its.fileno())]
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.DEVNULL)
    process = subprocess.Popen(
        command, cwd=CHECKOUT, env={**kept, **given, "DJANGO_SETTINGS_MODULE": "dashboard.settings"},
        pass_fds=[its.fileno()], **pipes,
    )  # fmt: skip
    its.close()

    def end() -> None:
        ours.close()
        process.wait(10)

    atexit.register(end)
    assert ours.recv(20) == b"loaded", "`tests.forker` has ended"
    return ours
