"""A model behind an API, for examining what-ifs: what it does depends on its settings, the request, the call's number.

It is written from what servers are known to do, and shares nothing with `agentcore.replay`. Its words are tokens of
different lengths; it thinks differently long at each call, takes a request to go on in its own way, writes tool calls
token by token, counts what it counts, and breaks where it is told to break.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from agentcore import (
    ChatRequest,
    ChatResponse,
    ErrorType,
    Message,
    NormalizedStopReason,
    ProviderError,
    Role,
    TokenUsage,
    ToolCall,
)
from agentcore.messages import CallIssue
from tests.agentcore.replay.texts import Words, place_in, prose, rest_of

#: What an answer ends with, where nothing cuts it.
ENDS = {
    "stop": (NormalizedStopReason.END_TURN, "stop"),
    "filter": (NormalizedStopReason.SAFETY_BLOCKED, "content_filter"),
    "new word": (NormalizedStopReason.UNKNOWN, "solar_flare"),
    "error word": (NormalizedStopReason.UNKNOWN, "error"),
    "no word": (NormalizedStopReason.UNKNOWN, None),
}
ERRORS = {
    "429": ProviderError(ErrorType.RATE_LIMIT, "rate_limit", "too many requests", 429, retry_after=2.0),
    "500": ProviderError(ErrorType.MODEL, "server_error", "oops", 500),
    "400": ProviderError(ErrorType.MODEL, "invalid_request", "messages.0 is wrong", 400, retryable=False),
    "reset": ProviderError(ErrorType.MODEL, "connection", "connection reset"),
}
TOO_LARGE = "max_tokens is too large: {}. This model supports at most {} completion tokens"


class Reply(NamedTuple):
    """What comes back of one call, and how many tokens it took the time of."""

    response: ChatResponse | None
    error: ProviderError | None
    tokens: int
    thought: int = 0  #: of these, before the first word


class Plan(NamedTuple):
    """What one call would say, and how far it gets."""

    number: int
    echo: str
    words: Words
    calls: tuple[str, ...]
    thought: int
    counted: int  #: of these, towards the cap
    given: int  #: input tokens
    left: int  #: tokens for words, calls and the end
    whole: bool
    paused: bool


@dataclass(frozen=True)
class Model:
    """One model's habits. Ranges are (least, most), drawn anew for each call."""

    seed: int
    texts: tuple[Words, ...]  #: of each iteration; all but the last end in tool calls
    thinks: Mapping[str, tuple[int, int]] = field(default_factory=dict)  #: tokens, by kind of call
    told: str = "reported"  #: reported, shown, hidden, uncounted, unreported (in no usage, but counted), some of these
    tells_of_none: bool = False  #: a usage says where there was no reasoning
    calls_cuts: bool = True  #: an answer that its cap cut is called cut, and not ended
    goes_on: str = "exactly"  #: after a hint: exactly, repeats, sentence, restarts, preamble, other, unrelated
    repeats: tuple[int, int] = (0, 0)  #: tokens said again
    fails: Mapping[int, str | int] = field(default_factory=dict)  #: an error, or the tokens before a reset
    in_stream: bool = False  #: what breaks off is an error object within an answer
    arguments: tuple[str, ...] = ('{"expression": "1"}',)  #: of the calls at an iteration's end
    repair: str = "call"  #: what a repair is answered with: call, text, broken, second (a call, but not at once)
    usage: str = "full"  #: full, none, zero, odd, even, some, last (not of what breaks off)
    misreports: tuple[int, int] = (0, 0)  #: tokens by which the usage of a whole answer is more, and of a cut one
    input_tokens: int = 100
    pace: float = 0.01  #: seconds of a token
    slow: tuple[float, float] = (0.2, 0.2)  #: seconds before the first token
    window: int | None = None
    most: int | None = None  #: max_tokens that it takes
    end: str = "stop"
    end_mark: int = 0  #: tokens that the end takes of the cap
    prefill: bool = False
    echoes: bool = False
    pauses: tuple[int, ...] = ()  #: places of the first text, in tokens, at which it pauses
    envelopes: tuple[Words, ...] = ()  #: structured answers: the first, and those to a word about what was wrong

    # What it does ----------------------------------------------------------------------------------------------------

    def reply(self, request: ChatRequest, number: int) -> Reply:
        """What comes of the call of this number."""
        fails = self.fails.get(number)
        if self.most is not None and request.max_tokens > self.most:
            words = TOO_LARGE.format(request.max_tokens, self.most)
            return Reply(None, ProviderError(ErrorType.MODEL, "invalid_request", words, 400, retryable=False), 0)
        if isinstance(fails, str):
            return Reply(None, ERRORS[fails], 0)
        plan = self._plan(request, number)
        if fails is not None and min(len(plan.words), plan.left) > fails:
            return self._broken_off(plan, fails)
        return self._as_far(plan)

    def _plan(self, request: ChatRequest, number: int) -> Plan:
        chance = random.Random(f"{self.seed} {number}")
        thought = chance.randint(*self.thinks.get(kind_of(request), (0, 0)))
        sent = sum(len(m.text) for m in request.messages) + len(_continued(request))
        given = self.input_tokens + sent // 4
        room = request.max_tokens if self.window is None else max(0, min(request.max_tokens, self.window - given))
        counted = 0 if self.told == "uncounted" else min(thought, room)
        echo, words = self._words(request, chance, number)
        calls = self._calls(request, number)
        pause = self._pause(words)
        needed = len(words) + sum(len(_pieces(raw)) for raw in calls) + self.end_mark if pause is None else pause
        whole = needed <= room - counted and (thought <= room or self.told == "uncounted")
        left = needed if whole else room - counted
        return Plan(number, echo, words, calls, thought, counted, given, left, whole, whole and pause is not None)

    def _pause(self, words: Words) -> int | None:
        """How many of these words are said before it pauses, if it does."""
        said = len(self.texts[0]) - len(words)
        ahead = [place - said for place in self.pauses if 0 < place - said < len(words)]
        return ahead[0] if ahead and len(self.texts) == 1 else None

    def _broken_off(self, plan: Plan, before: int) -> Reply:
        told = before + (plan.counted if self._told(plan.number) != "unreported" else 0)
        usage = None if self.usage in ("none", "last", "zero") else TokenUsage(plan.given, told)
        partial = ChatResponse(plan.echo + "".join(plan.words[:before]), usage=usage)
        spent = plan.counted + before
        if self.in_stream:
            broken = ProviderError(ErrorType.MODEL, "server_error", "it broke")
            return Reply(replace(partial, error=broken), None, spent, plan.counted)
        return Reply(partial if partial.text else None, ERRORS["reset"], spent, plan.counted)

    def _as_far(self, plan: Plan) -> Reply:
        """As much of this as fits: thinking, words, calls, the end."""
        words = plan.words[: plan.left]
        pieces = [(place, piece) for place, raw in enumerate(plan.calls) for piece in _pieces(raw)]
        calls, broken = _made(plan, pieces[: plan.left - len(words)])
        shown = plan.counted if plan.counted or not plan.whole else plan.thought
        spent = plan.left + (plan.thought if self.told == "uncounted" else plan.counted)
        reason, word = self._end(plan)
        response = ChatResponse(
            plan.echo + "".join(words),
            calls,
            broken,
            self._usage(plan, spent),
            "hm. " * shown if self.told == "shown" else "",
            stop_reason=reason,
            raw_stop_reason=word,
            echo="kept" if plan.paused else None,
        )
        return Reply(response, None, spent, min(plan.thought, spent))

    def _end(self, plan: Plan) -> tuple[NormalizedStopReason, str | None]:
        if plan.paused:
            return NormalizedStopReason.PAUSED, "pause_turn"
        if not plan.whole:
            return (NormalizedStopReason.MAX_TOKENS, "length") if self.calls_cuts else ENDS["stop"]
        return (NormalizedStopReason.TOOL_CALL, "tool_calls") if plan.calls else ENDS[self.end]

    def _usage(self, plan: Plan, spent: int) -> TokenUsage | None:
        if not self._reports(plan.number):
            return None
        if self.usage == "zero":
            return TokenUsage(0, 0)
        spent = max(0, spent + (self.misreports[not plan.whole] if not plan.paused else 0))
        how = self._told(plan.number)
        if how == "unreported":
            spent = max(0, spent - plan.counted)
        thought = min(plan.thought, spent) if how in ("reported", "uncounted") else 0
        none = self.tells_of_none and how == "reported" and not thought
        return TokenUsage(plan.given, spent, thought, no_reasoning=none or None)

    def _told(self, number: int) -> str:
        """How the reasoning of the call of this number is told."""
        if self.told != "some":
            return self.told
        return random.Random(f"{self.seed} told {number}").choice(("reported", "unreported"))

    def _reports(self, number: int) -> bool:
        """Whether the call of this number comes with its usage."""
        match self.usage:
            case "none":
                return False
            case "odd" | "even":
                return number % 2 == (self.usage == "odd")
            case "some":
                return random.Random(f"{self.seed} usage {number}").random() < 0.5
        return True

    # What it has to say -----------------------------------------------------------------------------------------------

    def _words(self, request: ChatRequest, chance: random.Random, number: int) -> tuple[str, Words]:
        """What is sent back of what was sent along, and what is said now."""
        text, continued = self._text(request.messages), request.continuation
        if self.envelopes:
            return "", self.envelopes[min(number - 1, len(self.envelopes) - 1) if request.system_prompt else 0]
        paused = [m.text for m in request.messages if m.role is Role.ASSISTANT and m.echo]
        if continued is None and request.messages[-1].role is Role.ASSISTANT:
            before = request.messages[-1 - len(paused)]
            had = before.text if before.role is Role.ASSISTANT and not before.tool_calls else ""
            return "", text[place_in(text, had + "".join(paused)) :]
        if continued is None:
            return "", text
        if continued.repairs:
            return "", ("I ", "will ", "not ", "call ", "it.") if self.repair == "text" else ()
        if not continued.text:
            return "", text
        if self.prefill:
            return (continued.text if self.echoes else ""), rest_of(text, continued.text)
        return "", self._after_a_hint(text, continued.text, chance)

    def _after_a_hint(self, text: Words, had: str, chance: random.Random) -> Words:
        place = place_in(text, had)
        match self.goes_on:
            case "repeats":
                return text[max(0, place - chance.randint(*self.repeats)) :]
            case "sentence":
                ends = [at + 1 for at in range(place - 1) if text[at].rstrip().endswith((".", "\n", "!"))]
                return text[(ends[-1] if ends else 0) :]
            case "restarts":
                return text
            case "preamble":
                return ("Sure, ", "continuing", ":\n", *text[place:])
            case "other":
                rest = len(text) - place
                return prose(random.Random(f"{self.seed} {place}"), max(1, round(rest * chance.uniform(0.6, 1.5))))
            case "unrelated":
                return prose(random.Random(f"{self.seed} {place}"), chance.choice([5, 30, 80]))
        return text[place:]

    def _text(self, messages: Sequence[Message]) -> Words:
        rounds = sum(bool(m.tool_calls) for m in messages)
        asked = [m.text for m in messages if m.role is Role.USER]
        text = self.texts[min(rounds, len(self.texts) - 1)]
        if len(asked) > 1 or asked[-1:] != ["go"]:
            return prose(random.Random(f"{self.seed} {asked}"), max(3, len(text) // 2))
        return text

    def _calls(self, request: ChatRequest, number: int) -> tuple[str, ...]:
        rounds = sum(bool(m.tool_calls) for m in request.messages)
        if not request.tools or rounds >= len(self.texts) - 1:
            return ()
        repairs = request.continuation is not None and request.continuation.repairs
        if repairs and self.repair == "text":
            return ()
        if repairs and (self.repair == "call" or (self.repair == "second" and number > 2)):
            return tuple('{"expression": "2"}' for _ in self.arguments)
        return self.arguments


_HEAD = "<call>"


def _made(plan: Plan, written: Sequence[tuple[int, str]]) -> tuple[tuple[ToolCall, ...], tuple[ToolCall, ...]]:
    """The calls as far as they are written: whole ones, and broken ones."""
    made, broken = list[ToolCall](), list[ToolCall]()
    for place in sorted({place for place, _ in written}):
        text = "".join(piece for at, piece in written if at == place)[len(_HEAD) :]
        call, value = ToolCall(f"c{plan.number}_{place}", "calculator", raw=text), _object(text)
        if value is not None:
            made.append(replace(call, arguments=value))
            continue
        issue = CallIssue.MALFORMED if text == plan.calls[place] else CallIssue.TRUNCATED
        broken.append(replace(call, issue=issue, shown_whole=False))
    return tuple(made), tuple(broken)


def _pieces(raw: str) -> list[str]:
    """A call's tokens: its head takes four, its arguments one for three characters."""
    return [_HEAD, "", "", "", *(raw[at : at + 3] for at in range(0, len(raw), 3))]


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _continued(request: ChatRequest) -> str:
    return request.continuation.text if request.continuation is not None else ""


def kind_of(request: ChatRequest) -> str:
    if request.continuation is not None:
        return "repair" if request.continuation.repairs else "continuation"
    return "after tools" if any(m.role is Role.TOOL for m in request.messages) else "first"
