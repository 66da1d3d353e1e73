"""Models whose answers somebody writes down, one for each call, and what each call was asked with.

A program `name` makes a model `script-<name>`, which every dialect has. Its first call gets the first answer, and so
on; the last answer stays. `SCRIPTS` holds the programs of this process: all simulators in it answer from there. All is
bounded, and gone when the process ends.
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from dashboard.simulator.behaviour import Behaviour, Response
from dashboard.simulator.errors import RequestError
from dashboard.simulator.model_table import MODELS
from dashboard.simulator.request_values import CheckedRequest, RequestMessage, Speaker
from dashboard.simulator.script_player import Call, Ending, Script, verbatim
from dashboard.simulator.texts import count_tokens

PREFIX = "script-"
MOST_SCRIPTS = 64  #: for one more, the one goes that was not used for longest
CALLS_KEPT = 20  #: of a script, the latest
MESSAGES_KEPT = 16  #: of a call, the latest
LONGEST_KEPT = 4_000  #: characters of one message
LONGEST_PROMPT_KEPT = 16_000  #: characters

#: How a script names an ending: the normalized stop reasons, and what they cannot tell apart.
ENDINGS: Mapping[str, Ending] = {
    "end_turn": Ending.END,
    "max_tokens": Ending.LENGTH,
    "tool_call": Ending.CALLS,
    "malformed_tool_call": Ending.MALFORMED,
    "safety_blocked": Ending.FILTERED,
    "prompt_blocked": Ending.BLOCKED,
    "context_window_exceeded": Ending.CONTEXT,
    "paused": Ending.PAUSED,
    "unknown": Ending.ODD,
    "missing": Ending.MISSING,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call is answered with: as the model `like` does, or by `error`, or in its own words.

    `refusal`: said in place of `text`, as a refusal. `ending`: `None`: as its parts have it. `raw`: the reason's word
    on the wire, if not the dialect's own. `cut_after`: tokens after which it is cut, however large the budget; 0: half
    of them. `spent`: output tokens it reports. `delay`: seconds before it begins.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    refusal: str | None = None
    ending: Ending | None = None
    raw: str | None = None
    cut_after: int | None = None
    spent: int | None = None
    hangs_up: bool = False
    like: str | None = None
    error: RequestError | None = None
    delay: float = 0.0

    def response(self, asked: CheckedRequest) -> Response:
        """What a model answers with. Raises `RequestError` where that is the answer."""
        if self.error is not None:
            raise replace(self.error)
        if self.like is not None:
            return MODELS[self.like].script(asked)
        return self._script()

    def _script(self) -> Script:
        if self.refusal is not None:
            return Script(verbatim(self.refusal), ending=Ending.REFUSED, raw=self.raw)
        ending = self.ending or (Ending.CALLS if self.calls else Ending.END)
        return Script(
            verbatim(self.text),
            self.calls,
            ending,
            withheld=ending is Ending.FILTERED,
            hangs_up=self.hangs_up,
            cut_after=self._cut_after(),
            raw=self.raw,
            spent=self.spent,
        )

    def _cut_after(self) -> int | None:
        """An answer that is to be cut is never whole."""
        if self.cut_after is None:
            return None
        tokens = count_tokens(self.text) + sum(1 + count_tokens(call.arguments) for call in self.calls)
        return tokens // 2 if self.cut_after == 0 else min(self.cut_after, max(0, tokens - 1))

    def behaviour(self) -> Behaviour:
        like = MODELS[self.like] if self.like else None
        return Behaviour(
            self.response,
            token_ms=like.token_ms if like else None,
            needs=like.needs if like else None,
            delay=self.delay,
            dialects=like.dialects if like else None,
        )


@dataclass(frozen=True, slots=True)
class Received:
    """The request of one call; long values are cut. `number`: 1-based. `at`: seconds since 1970."""

    number: int
    dialect: str
    stream: bool
    max_tokens: int
    system_prompt: str
    messages: tuple[RequestMessage, ...]
    at: float


@dataclass(slots=True)
class _Running:
    """A program under way. `number`: how many calls it has had."""

    answers: Sequence[Answer]
    number: int = 0
    received: deque[Received] = field(default_factory=lambda: deque(maxlen=CALLS_KEPT))


@dataclass(frozen=True, slots=True)
class ScriptProgress:
    """How far a program has come. `calls`: the latest ones, in order."""

    name: str
    answers: int
    number: int
    calls: tuple[Received, ...]


class Scripts:
    """The programs of one process, by name. Any thread may ask it anything.

    `served_at`: the address of the simulator that answers from here, such as `http://127.0.0.1:8322`; `None` while
    none does.
    """

    def __init__(self) -> None:
        self.served_at: str | None = None
        self._lock = Lock()
        self._running: dict[str, _Running] = {}  # in the order of their last use

    def put(self, name: str, answers: Sequence[Answer]) -> None:
        """From now on the model has these answers, from the first; its calls so far are forgotten."""
        assert answers, "a program has an answer"
        with self._lock:
            self._running.pop(name, None)
            if len(self._running) >= MOST_SCRIPTS:
                del self._running[next(iter(self._running))]
            self._running[name] = _Running(answers)

    def get(self, name: str) -> ScriptProgress | None:
        with self._lock:
            running = self._running.get(name)
            return _standing(name, running) if running else None

    def all(self) -> list[ScriptProgress]:
        with self._lock:
            return [_standing(name, running) for name, running in sorted(self._running.items())]

    def delete(self, name: str) -> bool:
        """Whether there was one."""
        with self._lock:
            return self._running.pop(name, None) is not None

    def next_behaviour(self, asked: CheckedRequest, dialect: str) -> Behaviour | None:
        """How a scripted model behaves in this call, which counts from here; `None`: no program has this name."""
        with self._lock:
            name = asked.model.removeprefix(PREFIX)
            if name == asked.model or name not in self._running:
                return None
            running = self._running[name] = self._running.pop(name)
            answer = running.answers[min(running.number, len(running.answers) - 1)]
            running.number += 1
            running.received.append(_received(running.number, asked, dialect))
        return answer.behaviour()


def _standing(name: str, running: _Running) -> ScriptProgress:
    return ScriptProgress(name, len(running.answers), running.number, tuple(running.received))


def _received(number: int, asked: CheckedRequest, dialect: str) -> Received:
    guides = "\n".join(line.text for line in asked.lines if line.speaker is Speaker.GUIDE)
    said = [line for line in asked.lines if line.speaker is not Speaker.GUIDE][-MESSAGES_KEPT:]
    return Received(
        number=number,
        dialect=dialect,
        stream=asked.stream,
        max_tokens=asked.budget,
        system_prompt=guides[:LONGEST_PROMPT_KEPT],
        messages=tuple(RequestMessage(line.speaker, line.text[:LONGEST_KEPT]) for line in said),
        at=time.time(),
    )


SCRIPTS = Scripts()
