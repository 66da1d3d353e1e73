"""Whatever a schema holds, it costs the process that asks next to nothing, and the one that judges a bounded amount."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentcore.argument_validation import CoreError
from agentcore.schema import jsonschema_rs_validator
from agentcore.schema_size import TooMuchWork
from dashboard.agents.schema_validation import admission_queue, judge_processes, validator
from dashboard.agents.schema_validation.judge_overload import JudgesBusy, JudgingSpent
from dashboard.agents.schema_validation.judge_processes import Question, SpentError, judges
from dashboard.agents.schema_validation.judge_program import SLOW_POLITE, VIOLATIONS
from dashboard.agents.schema_validation.validator import (
    asking_as,
    fault_in,
    judging_budget,
    off_loop,
    patiently,
    violations,
)
from dashboard.platform.fair_queue import QueueSize
from tests.dashboard.agents.schema_validation.hostile_schemas import HOSTILE, chain, twice

#: 1,300 bytes that take 14 s of processor time and 2.3 GB where nothing stops it, nor refuses it beforehand.
DOUBLING = chain(18, twice("anyOf"), {"type": "string"})
NOT_CHEAP = {"anyOf": [{"type": "string"}, {"type": "null"}]}
OWN_SECONDS = 0.5  #: of this process, which writes what it asks and reads what it is told
MOST_WALL = 60.0  #: seconds for one of them, on a busy machine

_UNCOUNTED = "import agentcore.schema_cost; agentcore.schema_cost.MOST_STEPS = 10**12; "
_KILLED = """
import json, os, sys
from dashboard.agents.schema_validation import judge_processes
judge_processes._RUN = judge_processes._RUN.replace("from ", sys.argv[2] + "from ", 1)
from dashboard.agents.schema_validation.validator import violations
from dashboard.agents.schema_validation.judge_processes import judges, Question
violations({"anyOf": [{}]}, 1)
print("ready", flush=True)
violations(json.loads(sys.argv[1]), 1)
"""


@pytest.fixture(autouse=True)
def nothing_found_before() -> None:
    validator.forget()


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Judges that count nothing beforehand, as if a schema took longer than the count foresees."""
    judges.end()
    with monkeypatch.context() as patch:
        patch.setattr(judge_processes, "_RUN", judge_processes._RUN.replace("from ", f"{_UNCOUNTED}from ", 1))
        yield
    judges.end()


@contextlib.contextmanager
def little_work_here(seconds: float = OWN_SECONDS) -> Iterator[None]:
    used, began = time.process_time(), time.monotonic()
    yield
    assert time.process_time() - used < seconds
    assert time.monotonic() - began < MOST_WALL


@pytest.mark.usefixtures("uncounted")
def test_a_small_schema_that_takes_seconds_and_gigabytes_is_stopped_at_no_cost_to_its_caller():
    with little_work_here(), pytest.raises(TooMuchWork, match="took more than 1 s of processor time or 512 MiB"):
        violations(DOUBLING, 1)


def test_an_excessive_schema_costs_only_once(monkeypatch: pytest.MonkeyPatch):
    asked: list[Question] = []

    def spent(question: Question, _who: str) -> Any:
        asked.append(question)
        raise SpentError

    monkeypatch.setattr(judges, "ask", spent)
    for _ in range(3):
        with pytest.raises(TooMuchWork):
            violations(NOT_CHEAP, 1)
    assert len(asked) == 1


def judged(schema: Any, value: Any) -> None:
    with contextlib.suppress(CoreError):
        violations(schema, value)
    with contextlib.suppress(CoreError):
        fault_in(schema)


@pytest.mark.nightly
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_takes_bounded_work_and_almost_none_in_this_process(name: str):
    with little_work_here():
        judged(*HOSTILE[name])


@pytest.mark.parametrize(
    "name",
    ["unevaluatedProperties beside a reference", "pattern a{1000}{1000}", "a reference to itself", "dynamicRef",
     "nested 10,000 deep", "lists nested 10,000 deep", "a file", "a title of NUL and surrogates",
     "format regex, nested"],
)  # fmt: skip
def test_a_schema_refused_before_compiling_is_also_refused_by_judges(name: str):
    with little_work_here():
        judged(*HOSTILE[name])


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (NOT_CHEAP, None),
        (NOT_CHEAP, 1),
        (NOT_CHEAP, "\ud800"),
        ({"properties": {"a/b~": {"anyOf": [{"const": -0.0}]}}, "required": ["b"]}, {"a/b~": 1e308}),
        ({"oneOf": [{"multipleOf": 10**30}]}, 10**31 + 1),
        ({"$ref": "http://x/y"}, 1),
        ({"anyOf": []}, 1),
        ({"allOf": [{"type": "nothing"}]}, 1),
        ({"allOf": [{"pattern": "("}]}, "a"),
        (chain(40, twice("allOf"), {}), 1),
        ({"anyOf": [{"type": "string"}] * 50, "allOf": [{"type": "string"}] * 50}, 1),
    ],
)
def test_a_judge_gives_the_result_of_the_core_validator(schema: Any, value: Any):
    def said(validate: Any) -> Any:
        try:
            return validate(schema, value)
        except CoreError as error:
            return type(error).__name__, str(error)

    assert said(violations) == said(jsonschema_rs_validator())


def test_a_value_that_is_not_json_is_refused_by_name():
    for schema in ({}, NOT_CHEAP):
        with pytest.raises(ValueError, match="value must be JSON"):
            violations(schema, float("nan"))


def test_a_plain_schema_needs_no_judge(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(judges, "ask", lambda *_: pytest.fail("asked"))
    assert len(violations({"type": "object", "required": ["a"]}, {})) == 1
    assert fault_in({"type": "object"}) is None


def test_judges_restart_after_all_have_been_killed():
    assert violations(NOT_CHEAP, "a") == []
    for pid in (*below(os.getpid()),):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert violations(NOT_CHEAP, "b") == []


def test_a_forked_process_has_its_own_judges():
    assert violations(NOT_CHEAP, "a") == []
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        os.write(writing, str(len(violations(NOT_CHEAP, 1))).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writing)
    assert os.read(reading, 9) == b"1"
    os.close(reading)
    assert violations(NOT_CHEAP, 2) != []


def below(pid: int) -> Iterator[int]:
    """The judges' program of a process, and its judges."""
    for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        if b"judge_program" in Path(f"/proc/{child}/cmdline").read_bytes():
            yield child
            yield from below(child)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_working_judges_end_with_a_killed_server():
    command = [sys.executable, "-c", _KILLED, json.dumps(DOUBLING), _UNCOUNTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        time.sleep(0.05)
        left = list(below(server.pid))
        server.kill()
    assert len(left) >= 2
    deadline = time.monotonic() + 10
    while any(map(is_alive, left)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_alive, left))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_an_event_loop_keeps_running_while_a_schema_is_judged():
    longest = 0.0
    judged = asyncio.create_task(off_loop("key", partial(violations, DOUBLING, 1)))
    while not judged.done():
        began = time.thread_time()
        await asyncio.sleep(0.005)
        longest = max(longest, time.thread_time() - began)
    with pytest.raises(TooMuchWork):
        judged.result()
    assert longest < 0.1


async def test_work_that_need_not_wait_is_done_at_once():
    assert await off_loop("key", partial(violations, {"type": "string"}, "a")) == []
    assert await off_loop("key", partial(violations, NOT_CHEAP, "a")) == []


async def test_long_work_is_never_done_on_the_event_loop():
    assert await off_loop("key", threading.get_ident) == threading.get_ident()
    assert await off_loop("key", threading.get_ident, long=True) != threading.get_ident()
    assert await patiently("key", threading.get_ident, long=True) != threading.get_ident()


async def test_long_work_is_done_in_a_thread_where_too_many_wait(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(validator, "_LINE", QueueSize(places=0, of_one=0, waiting=0, waiting_of_one=0, seconds=0.1))
    monkeypatch.setattr(validator, "_lines", {})
    assert await off_loop("key", threading.get_ident, long=True) != threading.get_ident()
    with pytest.raises(JudgesBusy, match="Try again"):
        await off_loop("key", partial(violations, {**NOT_CHEAP, "title": "asked nowhere else"}, "a"), long=True)


async def test_the_last_caller_is_told_where_too_many_wait(monkeypatch: pytest.MonkeyPatch):
    full = QueueSize(places=0, of_one=0, waiting=0, waiting_of_one=0, seconds=0.1)
    monkeypatch.setattr(validator, "_LINE", full)
    monkeypatch.setattr(validator, "_lines", {})
    with pytest.raises(JudgesBusy, match="Try again"):
        await off_loop("key", partial(violations, NOT_CHEAP, "a"))


def test_a_request_for_which_no_judge_can_be_started_is_reported(monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object, **__: object) -> Any:
        raise OSError("no more processes")

    judges.end()
    monkeypatch.setattr(subprocess, "Popen", fails)
    with pytest.raises(JudgesBusy):
        judges.ask(Question(VIOLATIONS, b"{}", b"1"))
    judges.end()


def slow_judges() -> Iterator[int]:
    for pid in below(os.getpid()):
        with contextlib.suppress(OSError):
            nice = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])
            if nice - os.getpriority(os.PRIO_PROCESS, 0) >= SLOW_POLITE:
                yield pid


@contextlib.contextmanager
def signalled(number: int) -> Iterator[None]:
    """The first slow judge is sent this."""
    sent: list[int] = []

    def send() -> None:
        while not sent:
            sent.extend(slow_judges())
            time.sleep(0.002)
        os.kill(sent[0], number)

    sending = threading.Thread(target=send)
    sending.start()
    yield
    sending.join()
    with contextlib.suppress(ProcessLookupError):
        os.kill(sent[0], signal.SIGCONT)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
@pytest.mark.usefixtures("uncounted")
def test_a_judge_ended_from_outside_has_no_result():
    with signalled(signal.SIGKILL), pytest.raises(JudgesBusy):
        violations(DOUBLING, 1)
    with pytest.raises(TooMuchWork):
        violations(DOUBLING, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
@pytest.mark.usefixtures("uncounted")
def test_a_timeout_by_the_clock_is_not_a_result():
    """What a judge with too little processor time comes to, on a busy machine."""
    with signalled(signal.SIGALRM), pytest.raises(JudgesBusy):
        violations(DOUBLING, 1)


def test_the_busy_exception_is_not_caught_by_generic_error_handling():
    assert not issubclass(JudgesBusy, Exception)
    assert not issubclass(JudgingSpent, Exception)


class BusyAtFirst:
    """Judges that are busy so often."""

    def __init__(self, often: int) -> None:
        self.left = often

    def ask(self, _question: Question, _who: str = "") -> Any:
        if self.left:
            self.left -= 1
            raise JudgesBusy
        return {"found": [], "seconds": 0.0}


async def test_deferrable_work_retries(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(validator, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(validator, "judges", BusyAtFirst(2))
    assert await patiently("key", partial(violations, NOT_CHEAP, "a")) == []
    monkeypatch.setattr(validator, "judges", BusyAtFirst(3))
    with pytest.raises(JudgesBusy):
        await patiently("key", partial(violations, NOT_CHEAP, "b"))


def test_the_judging_time_of_one_request_is_limited(monkeypatch: pytest.MonkeyPatch):
    asked: list[Question] = []

    def spent(question: Question, _who: str) -> Any:
        asked.append(question)
        raise SpentError

    monkeypatch.setattr(judges, "ask", spent)
    with judging_budget(3.0):
        for number in range(3):
            with pytest.raises(TooMuchWork):
                violations(NOT_CHEAP, number)
        for number in range(3, 9):
            with pytest.raises(JudgingSpent, match="Send the rest in smaller parts"):
                violations(NOT_CHEAP, number)
        with pytest.raises(TooMuchWork):  # what was found before costs nothing
            violations(NOT_CHEAP, 0)
        assert violations({"type": "string"}, "a") == []
    assert len(asked) == 3
    with pytest.raises(TooMuchWork):
        violations(NOT_CHEAP, 9)


def test_work_of_a_millisecond_does_not_use_up_the_budget():
    with judging_budget(0.01):
        for number in range(50):
            violations(NOT_CHEAP, number)


@pytest.mark.nightly  # waits for seven seconds of judging; by day `platform/test_fair_queue.py` tests whose turn it is
@pytest.mark.usefixtures("uncounted")
def test_one_user_leaves_slots_for_others(monkeypatch: pytest.MonkeyPatch):
    """Six schemas of one user take the slow judge six seconds of processor time; another user's waits for those that
    have a place by then, and not for all."""
    monkeypatch.setattr(admission_queue, "WAITING_SECONDS", 120.0)  # on a busy machine six seconds take a minute
    judged = list[str]()

    def ask(who: str, number: int) -> None:
        # A judge on a busy machine may be given too little of it to say so.
        with asking_as(who), pytest.raises((TooMuchWork, JudgesBusy)):
            violations({**DOUBLING, "title": f"{who} {number}"}, 1)
        judged.append(who)

    greedy = [threading.Thread(target=ask, args=("greedy", number)) for number in range(6)]
    for thread in greedy:
        thread.start()
    time.sleep(1)
    ask("modest", 0)
    for thread in greedy:
        thread.join()
    assert judged.index("modest") <= 4
