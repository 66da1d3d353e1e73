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

Words = tuple[str, ...]
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


@dataclass(frozen=True)
class Model:
    """One model's habits. Ranges are (least, most), drawn anew for each call."""

    seed: int
    texts: tuple[Words, ...]  #: of each iteration; all but the last end in tool calls
    thinks: Mapping[str, tuple[int, int]] = field(default_factory=dict)  #: tokens, by kind of call
    told: str = "reported"  #: reported, shown, hidden, uncounted
    goes_on: str = "exactly"  #: after a hint: exactly, repeats, sentence, restarts, preamble, other
    repeats: tuple[int, int] = (0, 0)  #: tokens said again
    fails: Mapping[int, str | int] = field(default_factory=dict)  #: an error, or the tokens before a reset
    in_stream: bool = False  #: what breaks off is an error object within an answer
    arguments: tuple[str, ...] = ('{"expression": "1"}',)  #: of the calls at an iteration's end
    repair: str = "call"  #: what a repair is answered with: call, text, broken
    usage: str = "full"  #: full, none, zero, odd, last (not of what breaks off), off by one
    input_tokens: int = 100
    pace: float = 0.01  #: seconds of a token
    slow: tuple[float, float] = (0.2, 0.2)  #: seconds before the first token
    window: int | None = None
    most: int | None = None  #: max_tokens that it takes
    end: str = "stop"
    end_mark: int = 0  #: tokens that the end takes of the cap
    prefill: bool = False
    echoes: bool = False
    pauses: tuple[int, ...] = ()  #: calls at which it pauses after half of what it has to say
    envelopes: tuple[Words, ...] = ()  #: structured answers: the first, and those to a word about what was wrong

    # What it does ----------------------------------------------------------------------------------------------------

    def reply(self, request: ChatRequest, number: int) -> Reply:
        chance = random.Random(f"{self.seed} {number}")
        cap, fails = request.max_tokens, self.fails.get(number)
        if self.most is not None and cap > self.most:
            words = TOO_LARGE.format(cap, self.most)
            return Reply(None, ProviderError(ErrorType.MODEL, "invalid_request", words, 400, retryable=False), 0)
        if isinstance(fails, str):
            return Reply(None, ERRORS[fails], 0)
        thought = chance.randint(*self.thinks.get(kind_of(request), (0, 0)))
        given = self.input_tokens + sum(len(m.text) for m in request.messages) // 4 + len(_continued(request)) // 4
        room = cap if self.window is None else max(0, min(cap, self.window - given))
        echo, words = self._words(request, chance, number)
        calls = self._calls(request, number)
        return self._as_far(words, calls, thought, room, given, number, echo, fails)

    def _as_far(
        self,
        words: Words,
        calls: Sequence[str],
        thought: int,
        room: int,
        given: int,
        number: int,
        echo: str,
        fails: int | None,
    ) -> Reply:
        """As much of this as fits: thinking, words, calls, the end."""
        counted = 0 if self.told == "uncounted" else min(thought, room)
        left = room - counted
        pieces = [(place, piece) for place, raw in enumerate(calls) for piece in _pieces(raw)]
        paused = number in self.pauses and not calls and len(words) > 3
        needed = len(words) + len(pieces) + self.end_mark
        if paused:
            words, needed = words[: len(words) // 2], len(words) // 2
        whole = needed <= left and (thought <= room or self.told == "uncounted")
        said = words[: max(0, left)]
        written = pieces if whole else pieces[: max(0, left - len(words))]
        spent = counted + (needed if whole else max(0, left))
        if self.told == "uncounted":
            spent += thought
        if fails is not None and len(said) > fails:
            part = "".join(said[:fails])
            usage = None if self.usage in ("none", "last", "zero") else TokenUsage(given, counted + fails)
            partial = ChatResponse(echo + part, usage=usage) if echo + part else None
            if self.in_stream:
                broken = ProviderError(ErrorType.MODEL, "server_error", "it broke")
                return Reply(ChatResponse(echo + part, usage=usage, error=broken), None, counted + fails)
            return Reply(partial, ERRORS["reset"], counted + fails)
        shown = "hm. " * min(thought, max(0, room)) if self.told == "shown" else ""
        usage = self._usage(given, spent, min(thought, spent), number)
        response = ChatResponse(echo + "".join(said), usage=usage, reasoning_content=shown)
        return Reply(self._ended(response, calls, written, number, whole=whole, paused=paused), None, spent)

    def _ended(
        self, response: ChatResponse, calls: Sequence[str], written: Sequence[Any], number: int, *, whole: bool,
        paused: bool,
    ) -> ChatResponse:
        made, broken = [], []
        for place, raw in enumerate(calls):
            text = "".join(piece for at, piece in written if at == place)[len(_HEAD) :]
            if not any(at == place for at, _ in written):
                continue
            value = _object(text)
            identity = f"c{number}_{place}"
            if value is not None:
                made.append(ToolCall(identity, "calculator", value, text))
                continue
            cut = CallIssue.MALFORMED if whole or text == raw else CallIssue.TRUNCATED
            broken.append(ToolCall(identity, "calculator", raw=text, issue=cut, shown_whole=False))
        if whole:
            reason, word = ENDS[self.end] if not calls else (NormalizedStopReason.TOOL_CALL, "tool_calls")
            if paused:
                reason, word = NormalizedStopReason.PAUSED, "pause_turn"
        else:
            reason, word = NormalizedStopReason.MAX_TOKENS, "length"
        return replace(
            response,
            tool_calls=tuple(made),
            broken_tool_calls=tuple(broken),
            stop_reason=reason,
            raw_stop_reason=word,
            echo="kept" if paused else None,
        )

    def _usage(self, given: int, spent: int, thought: int, number: int) -> TokenUsage | None:
        if self.usage == "none" or (self.usage == "odd" and number % 2 == 0):
            return None
        if self.usage == "zero":
            return TokenUsage(0, 0)
        if self.usage == "off by one":
            spent = max(0, spent - self.end_mark)
        return TokenUsage(given, spent, thought if self.told in ("reported", "uncounted") else 0)

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
        if repairs and self.repair == "call":
            return tuple('{"expression": "2"}' for _ in self.arguments)
        return self.arguments


_HEAD = "<call>"


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


def place_in(text: Words, said: str) -> int:
    """How many of these words stand in what was said, by its end: where most readers would go on."""
    whole = "".join(text)
    if whole.startswith(said):
        reached = len(said)
    else:
        tail = said[-20:]
        found = [at + len(tail) for at in range(len(whole)) if whole.startswith(tail, at)]
        reached = min(found, key=lambda at: abs(at - len(said)), default=min(len(said), len(whole)))
    count = characters = 0
    while count < len(text) and characters < reached:
        characters += len(text[count])
        count += 1
    return count


def rest_of(text: Words, said: str) -> Words:
    """The words after these characters; of a word that was cut, its rest."""
    place = place_in(text, said)
    beyond = len("".join(text[:place])) - len(said)
    half = (text[place - 1][-beyond:],) if place and 0 < beyond < len(text[place - 1]) else ()
    return half + text[place:]


# Texts ----------------------------------------------------------------------------------------------------------------

VOCABULARY = "the a of to and in is it that for was on are as with they be at one have this from or had by hot word but"
LONG = "continuation provider certainty recording truncated assumption reasoning undecidable estimate temperature"


def prose(chance: random.Random, count: int) -> Words:
    """Sentences of a small vocabulary, as people write them."""
    found: list[str] = []
    while len(found) < count:
        length = chance.randint(4, 16)
        for at in range(length):
            word = chance.choice((VOCABULARY if chance.random() < 0.7 else LONG).split())
            if len(word) > 6 and chance.random() < 0.5:
                found += [word[:4], word[4:]]
            else:
                found.append(word)
            found[-1] += ". " if at == length - 1 else " "
    return tuple(found[:count])


def listed(chance: random.Random, count: int) -> Words:
    """Items of a list, many of which begin alike."""
    found: list[str] = []
    while len(found) < count:
        found += ["- ", chance.choice(VOCABULARY.split()), ": ", str(chance.randint(0, 9)), "\n"]
    return tuple(found[:count])


def code(chance: random.Random, count: int) -> Words:
    lines = [["    ", "if ", "x", ":\n"], ["        ", "return ", "None", "\n"], ["    ", "y ", "= ", "x", "\n"]]
    found: list[str] = []
    while len(found) < count:
        found += chance.choice(lines)
    return tuple(found[:count])


def array(chance: random.Random, count: int) -> Words:
    return tuple(["0", ", "][at % 2] for at in range(count))


def foreign(chance: random.Random, count: int) -> Words:
    return tuple(chance.choice(["日本", "語", "で", "書", "かれた", "é", "😀", "a "]) for _ in range(count))


TEXTS = (prose, prose, prose, listed, code, array, foreign)
