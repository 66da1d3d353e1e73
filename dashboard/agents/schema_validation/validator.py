"""Judging by JSON Schemas of strangers: never in this process, unless the schema is plain and small.

Asking a judge waits for it. A thread may wait; an event loop may not, and does its work by `off_loop`.

Also holds what judges have found, by the hash of what they were asked: the same is not asked twice, and what was too
much for them costs once.
"""

import asyncio
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from hashlib import blake2b
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from agentcore.argument_validation import WrongInput
from agentcore.json_values import MOST_LEVELS
from agentcore.number_format import seconds
from agentcore.policy import Violation
from agentcore.schema import jsonschema_rs_validator
from agentcore.schema_size import NESTED, TooMuchWork
from dashboard.agents.schema_validation.judge_overload import JudgesBusy, JudgingSpent
from dashboard.agents.schema_validation.judge_processes import Question, SpentError, judges
from dashboard.agents.schema_validation.judge_program import (
    FAULT,
    MOST_MEMORY,
    QUICK_SECONDS,
    SLOW_SECONDS,
    VIOLATIONS,
)
from dashboard.agents.schema_validation.plain_schemas import is_plain
from dashboard.agents.schema_validation.schema_faults import fault_of
from dashboard.platform.fair_queue import FairQueue, FullError, QueueSize

MOST_KEPT = 2_048  #: answers
_LONG = 4_000  #: characters of an answer that is not kept

#: In place of an answer: it was too much.
SPENT: Mapping[str, Any] = {"spent": True}


class VerdictMemory:
    """Of this process."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def recalled(self, key: bytes) -> Mapping[str, Any] | None:
        with self._lock:
            if (kept := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            return kept

    def keep(self, key: bytes, answer: Mapping[str, Any]) -> None:
        if sum(map(len, _texts(answer))) > _LONG:
            return
        with self._lock:
            self._kept[key] = answer
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


def key_of(question: Question) -> bytes:
    """What tells questions apart."""
    digest = blake2b(question.asked, digest_size=16)
    digest.update(len(question.schema).to_bytes(8))
    digest.update(question.schema)
    digest.update(question.value)
    return digest.digest()


def _texts(answer: Mapping[str, Any]) -> list[str]:
    if "found" in answer:
        return [text for violation in answer["found"] for text in violation]
    return [str(held) for held in answer.values()]


TOO_MUCH = (
    f"Checking by this schema took more than {seconds(SLOW_SECONDS)} of processor time or {MOST_MEMORY // 2**20:,} MiB "
    "of memory and was stopped. Make the schema smaller, or split it."
)
#: Of judges' processor time for all schemas of one request or import, beside what each question has free.
REQUEST_SECONDS, FREE_SECONDS = 10.0, 0.005
PAUSES = (1.0, 2.0, 4.0)  #: seconds before what found judges busy is asked again
#: Work of event loops that waits for judges, by who asked for it.
_LINE = QueueSize(places=8, of_one=2, waiting=4_096, waiting_of_one=512, seconds=60.0)

_EMPTY = "{}"  #: a schema, as text

T = TypeVar("T")


class _MayWait(Enum):
    YES = "yes"
    ELSEWHERE = "elsewhere"  #: the work is done again where it may
    NO = "no"  #: nor is there a place where it may


class _WaitsError(BaseException):
    """The work must wait for a judge. No `Exception`: the core would take it for a validator's fault."""


_may_wait: ContextVar[_MayWait] = ContextVar("may_wait", default=_MayWait.YES)
_asker: ContextVar[str] = ContextVar("asker", default="")
_left: ContextVar[list[float] | None] = ContextVar("seconds_left", default=None)
_validate = jsonschema_rs_validator()
_memory = VerdictMemory()
_threads = ThreadPoolExecutor(max_workers=_LINE.places, thread_name_prefix="judging")
_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, FairQueue] = WeakKeyDictionary()


def violations(schema: Mapping[str, Any], value: Any) -> list[Violation]:
    """The violations of a schema by a value, as `jsonschema_rs_validator` lists them. Raises what that raises, and
    `JudgesBusy`."""
    text, judged = _text(schema, "schema must be a JSON Schema"), _text(value, "value must be JSON")
    if is_plain(text, judged):
        # An empty one, as of each tool that a log only names, forbids nothing.
        return [] if text == _EMPTY else _validate(schema, value)
    answer = _answer(Question(VIOLATIONS, text.encode(), judged.encode()))
    if "refused" in answer:
        raise _refusal(*answer["refused"])
    return [Violation(*found) for found in answer["found"]]


def fault_in(schema: Mapping[str, Any]) -> str | None:
    """Why nothing can be judged by this schema, in words; None: something can. Raises `JudgesBusy`."""
    try:
        text = _text(schema, "This is not a JSON Schema")
        if is_plain(text):
            return fault_of(schema)
        answer = _answer(Question(FAULT, text.encode()))
    except (TooMuchWork, WrongInput) as error:
        return str(error)
    fault: str | None = answer["fault"]
    return fault


async def off_loop(who: object, work: Callable[[], T], *, long: bool = False) -> T:
    """Do work that may judge by schemas: at once, or in a thread where it has to wait for a judge. Then it is done from
    its beginning, so it must change nothing. `who` takes turns with others. `long` work is never done at once, because
    the event loop would stand still for as long as it takes."""
    if not long:
        try:
            with _waiting(_MayWait.ELSEWHERE):
                return work()
        except _WaitsError:
            pass
    loop = asyncio.get_running_loop()
    line = _lines.setdefault(loop, FairQueue(_LINE))
    try:
        await line.enter(str(who))
    except FullError:
        with _waiting(_MayWait.NO):
            return await asyncio.to_thread(work) if long else work()
    job = loop.run_in_executor(_threads, _as, str(who), work)
    job.add_done_callback(lambda _: line.leave(str(who)))
    return await asyncio.shield(job)


async def patiently(who: object, work: Callable[[], T], *, long: bool = False) -> T:
    """`off_loop`, asked again while judges are busy: what was paid for should be judged. Raises `JudgesBusy` in the
    end."""
    for pause in PAUSES:
        try:
            return await off_loop(who, work, long=long)
        except JudgesBusy:
            await asyncio.sleep(pause)
    return await off_loop(who, work, long=long)


@contextmanager
def asking_as(who: object) -> Iterator[None]:
    """Who asks within takes turns at the judges with others; None: nobody in particular."""
    token = _asker.set("" if who is None else str(who))
    try:
        yield
    finally:
        _asker.reset(token)


def _as(who: str, work: Callable[[], T]) -> T:
    with asking_as(who):
        return work()


@contextmanager
def judging_budget(seconds: float = REQUEST_SECONDS) -> Iterator[None]:
    """What is judged within may take this much processor time of judges. After it only plain schemas are judged, and
    what was judged before; for others `JudgingSpent` is raised."""
    token = _left.set([seconds])
    try:
        yield
    finally:
        _left.reset(token)


def forget() -> None:
    """What was found so far."""
    _memory.clear()


@contextmanager
def _waiting(may: _MayWait) -> Iterator[None]:
    token = _may_wait.set(may)
    try:
        yield
    finally:
        _may_wait.reset(token)


def _answer(question: Question) -> Mapping[str, Any]:
    """What a judge finds, or has found before. Raises `TooMuchWork` where it was too much for one."""
    key = key_of(question)
    answer = _memory.recalled(key)
    if answer is None:
        answer = _asked(question)
        _memory.keep(key, answer)
    if answer is SPENT:
        raise TooMuchWork(TOO_MUCH)
    return answer


def _asked(question: Question) -> Mapping[str, Any]:
    match _may_wait.get():
        case _MayWait.ELSEWHERE:
            raise _WaitsError
        case _MayWait.NO:
            raise JudgesBusy
    left = _left.get()
    if left is not None and left[0] <= 0:
        raise JudgingSpent
    used = QUICK_SECONDS + SLOW_SECONDS
    try:
        answer = judges.ask(question, _asker.get())
        used = max(0.0, answer["seconds"] - FREE_SECONDS)
        return answer
    except SpentError:
        return SPENT
    finally:
        if left is not None:
            left[0] -= used


def _text(given: Any, words: str) -> str:
    try:
        return json.dumps(given, sort_keys=False, allow_nan=False)
    except RecursionError as error:
        raise TooMuchWork(NESTED.format(most=MOST_LEVELS)) from error
    except (TypeError, ValueError) as error:
        raise _refusal(type(error).__name__, f"{words}: {error}") from error


def _refusal(name: str, words: str) -> Exception:
    """What the core's validator raised. Histories tell the name of its class."""
    if name == TooMuchWork.__name__:
        return TooMuchWork(words)
    refusal: type[WrongInput] = type(name, (WrongInput,), {})
    return refusal(words)
