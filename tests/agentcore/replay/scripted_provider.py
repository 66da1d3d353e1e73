"""A provider for the second examiner of what-ifs: every answer is a script of tokens, every fault a habit.

It was written from the design alone, by someone who had not seen `model_server` or `wire_provider`, and shares no code
with them: an error that two of them make alike is less likely. It remembers where its last answer was cut, so whoever
begins a turn in the middle copies it first.
"""

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NamedTuple

from agentcore import ChatResponse, ErrorType, NormalizedStopReason, ProviderError, Role, TokenUsage, ToolCall
from agentcore.events import ToolResult
from agentcore.messages import CallIssue, ChatRequest
from tests.agentcore.replay.scripted_habits import BROKEN_OFF, CALLED, CUT, ENDLESS, ENDS, ERRORS, KINDS, Habits

_TAIL = 24  #: characters by which the place to go on from is found


class Reply(NamedTuple):
    """What came of a call: an answer, or an error with what had arrived."""

    response: ChatResponse | None
    error: ProviderError | None
    seconds: float


class _Key(NamedTuple):
    """What an answer depends on."""

    iteration: int
    system: str
    model: str
    corrected: bool
    asked: tuple[str, ...]


class _Script(NamedTuple):
    tokens: list[str]
    calls: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass
class _Saying:
    """An answer as it is given, token by token, while there is room."""

    room: int
    text: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    broken: list[ToolCall] = field(default_factory=list)
    cut: bool = False

    def take(self, tokens: list[str]) -> list[str]:
        """Those of the tokens that there is room for."""
        given = tokens[: max(0, self.room)]
        self.cut = self.cut or len(given) < len(tokens)
        self.room -= len(given)
        return given


def number_of(*parts: object) -> int:
    """A number that looks drawn at random, and is the same for the same parts."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=6).digest(), "big")


def pieces(text: str, chance: random.Random) -> list[str]:
    """A text that is no prose as tokens."""
    found, at = [], 0
    while at < len(text):
        length = chance.choice([1, 2, 3, 5])
        found.append(text[at : at + length])
        at += length
    return found


class ScriptedProvider:
    """Answers requests and runs tools by its habits."""

    def __init__(self, habits: Habits) -> None:
        self.habits = habits
        self._cut_at: dict[_Key, int] = {}  #: tokens of the script that were said
        self._ran: Counter[str] = Counter()  #: runs of each tool
        self._spent = 0  #: output tokens of all calls

    def tool(self, call: ToolCall, *, late: bool = False) -> ToolResult:
        """The result tells the run, so that no two are alike."""
        run = self._ran[call.name]
        self._ran[call.name] += 1
        if late:
            return ToolResult(call.id, call.name, "It took too long.", ErrorType.TIMEOUT)
        failed = (call.name, run) in self.habits.tool_errors
        return ToolResult(call.id, call.name, f"{call.name}:{run}", ErrorType.TOOL if failed else None)

    def answer(self, request: ChatRequest, attempt: int) -> Reply:
        habits, fails = self.habits, self.habits.fails.get(attempt)
        if isinstance(fails, str):
            return Reply(None, ERRORS[fails], 0.1)
        key = self._key(request)
        script = self._script(key)
        begin, again, echo = self._place(request, script, key)
        thinks = self._thinks(key.iteration, begin)
        counted = 0 if habits.told == "uncounted" else min(thinks, request.max_tokens)
        saying = _Saying(request.max_tokens - counted, cut=habits.told != "uncounted" and thinks > counted)
        repairs = request.continuation is not None and request.continuation.repairs
        self._say(saying, again + script.tokens[begin:], script, key, whole=not habits.malformed or repairs)
        output = request.max_tokens - saying.room
        prompt = len(repr([message.text for message in request.messages])) + len(echo or "")
        if habits.window is not None and prompt + output > habits.window:
            return self._over(prompt, request, saying, counted, key, begin)
        self._cut_at[key] = begin + max(0, len(saying.text) - len(again))
        if isinstance(fails, int) and output > fails:
            return self._breaks_off(saying.text[:fails], key, begin, echo)
        response = self._told(saying, key, begin, output, thinks if habits.told == "uncounted" else counted, prompt)
        seconds = habits.wait + habits.pace * output
        return Reply(replace(response, text=echo + response.text, model=request.model), None, seconds)

    def _key(self, request: ChatRequest) -> _Key:
        spoken = sum(message.role is Role.ASSISTANT for message in request.messages)
        asked = tuple(message.text for message in request.messages if message.role is not Role.ASSISTANT)
        structured, system = bool(self.habits.payloads), request.system_prompt
        corrected = structured and ("schema" in system or "JSON" in system)
        return _Key(spoken, "" if structured else system, request.model, corrected, asked)

    def _script(self, key: _Key) -> _Script:
        habits, chance = self.habits, random.Random(number_of(self.habits.seed, *key))
        if habits.payloads:
            return _Script(pieces(habits.payloads[key.corrected], chance), ())
        length = habits.lengths[min(key.iteration, len(habits.lengths) - 1)]
        tokens: list[str] = []
        while len(tokens) < length:
            tokens += KINDS[habits.kind](chance)
        called = habits.tools[key.iteration] if key.iteration < len(habits.tools) else ()
        return _Script(tokens[:length], called)

    def _place(self, request: ChatRequest, script: _Script, key: _Key) -> tuple[int, list[str], str]:
        """Where in the script the answer begins; the tokens said again before; and the echo."""
        asked = request.continuation
        if request.resume_token:
            return self._cut_at.get(key, 0), [], ""
        if asked is None:
            return 0, [], ""
        if asked.repairs:
            return len(script.tokens), [], ""
        at = self._found(script.tokens, asked.text, key)
        if self.habits.exact:
            return at, [], asked.text if self.habits.echo else ""
        return (0, [], "") if self.habits.repeat == "anew" else (at, self._repeated(script.tokens, at), "")

    def _found(self, tokens: list[str], text: str, key: _Key) -> int:
        """The place that the text so far ends at: where the last answer was cut, if that ends alike."""
        tail, known = text[-_TAIL:], self._cut_at.get(key, 0)
        if not tail or "".join(tokens[:known]).endswith(tail[len(tail) // 2 :]):
            return known if tail else 0
        ends = [at for at in range(len(tokens) + 1) if "".join(tokens[:at]).endswith(tail)]
        return max(ends, default=known)

    def _repeated(self, tokens: list[str], at: int) -> list[str]:
        begin = at
        while begin and sum(map(len, tokens[begin:at])) < self.habits.again:
            begin -= 1
        last = tokens[begin:at]
        match self.habits.repeat:
            case "tokens":
                return last
            case "sometimes":
                return last if number_of(self.habits.seed, at) % 2 else []
            case "line":
                ends = [place for place in range(max(0, at - 60), at) if "\n" in tokens[place]]
                return tokens[ends[-1] + 1 : at] if ends else last
            case "upper case":
                return [token.upper() for token in last]
            case "after a blank":
                return [" \n", *last]
            case "preamble":
                return ["Cont", "inuing", ":", " "]
        return []

    def _thinks(self, iteration: int, begin: int) -> int:
        habits, drawn = self.habits, number_of(self.habits.seed, iteration, begin)
        choices = {
            "always": habits.thought,
            "varied": drawn % (2 * habits.thought + 1),
            "first": habits.thought if begin == 0 else 0,
            "later": habits.thought if begin else 0,
            "endless": ENDLESS if begin and drawn % 2 else habits.thought,
        }
        return choices.get(habits.thinking, 0)

    def _say(self, saying: _Saying, tokens: list[str], script: _Script, key: _Key, *, whole: bool) -> None:
        saying.text = saying.take(tokens)
        for place, (name, arguments) in enumerate(script.calls):
            if not saying.cut:
                raw = json.dumps(arguments) if whole else json.dumps(arguments)[:-1]
                _call(saying, ToolCall(f"call_{key.iteration}_{place}", name, arguments, raw), whole=whole)
        if not saying.cut:
            saying.take([""] * self.habits.end_mark)

    def _over(self, prompt: int, request: ChatRequest, saying: _Saying, counted: int, key: _Key, begin: int) -> Reply:
        """The context window is full: an error where the prompt fills it, else the answer is cut there."""
        room = (self.habits.window or 0) - prompt - counted
        if room <= 0:
            full = NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED
            error = ProviderError(ErrorType.MODEL, "context_length", "too long", 400, stop_reason=full, retryable=False)
            return Reply(None, error, 0.1)
        cut = _Saying(0, saying.text[:room], cut=True)
        self._cut_at[key] = begin + len(cut.text)
        response = self._told(cut, key, begin, counted + len(cut.text), counted, prompt)
        return Reply(replace(response, model=request.model), None, self.habits.wait)

    def _breaks_off(self, said: list[str], key: _Key, begin: int, echo: str) -> Reply:
        self._cut_at[key] = begin + len(said)
        text = echo + "".join(said)
        arrived = ChatResponse(text, incomplete_stream=True) if text else None
        return Reply(arrived, BROKEN_OFF, self.habits.wait + self.habits.pace * len(said))

    def _told(self, saying: _Saying, key: _Key, begin: int, output: int, thought: int, prompt: int) -> ChatResponse:
        habits = self.habits
        reason, raw = CUT if saying.cut else CALLED if saying.calls or saying.broken else habits.ending
        if saying.cut and habits.hides_cuts:
            reason, raw = ENDS
        reported = output + {"uncounted": thought, "unreported": -thought}.get(habits.told, 0)
        if habits.usage == "without the end mark" and not saying.cut:
            reported -= habits.end_mark
        self._spent += output
        if habits.usage == "so far":
            reported = self._spent
        used = TokenUsage(prompt, reported, thought if habits.told in ("usage", "uncounted") else 0)
        if habits.usage == "none" or (habits.usage == "sometimes" and number_of(habits.seed, *key, begin) % 2):
            usage = None
        else:
            usage = TokenUsage(0, 0) if habits.usage == "zero" else used
        text, empty = "".join(saying.text), not (saying.text or saying.calls or saying.broken or saying.cut)
        return ChatResponse(
            text,
            tuple(saying.calls),
            broken_tool_calls=tuple(saying.broken),
            usage=usage,
            reasoning_content="hmm " * thought if habits.told == "shown" else "",
            stop_reason=reason,
            raw_stop_reason=raw,
            provider="openai",
            diagnostics=("empty_output",) if empty else (),
            resume_token="go on" if habits.tokens and saying.cut and text else None,
        )


def _call(saying: _Saying, call: ToolCall, *, whole: bool) -> None:
    tokens = [call.name, *pieces(call.raw, random.Random(call.raw))]
    given = saying.take(tokens)
    if len(given) < len(tokens):
        raw = "".join(given[1:])
        saying.broken += [replace(call, arguments={}, raw=raw, issue=CallIssue.TRUNCATED, shown_whole=False)] * bool(
            given
        )
    elif whole:
        saying.calls.append(call)
    else:
        saying.broken.append(replace(call, arguments={}, issue=CallIssue.MALFORMED))
