"""A provider of chat completions for examining what-ifs: it takes a request body and gives an answer's, or an error's.

It knows nothing of the machine. What it says, thinks, counts, repeats and refuses depends on its settings, the body and
the number of the call. Its tokens are not characters by any fixed rate: digits, markup, code, and letters outside ASCII
are among its texts.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

TOKENS_OF_A_CALL = 6  #: beside its arguments
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def prose(chance: random.Random, count: int) -> list[str]:
    return ["".join(chance.choices(LETTERS, k=chance.randint(1, 9))) + " " for _ in range(count)]


def skewed(chance: random.Random, count: int) -> list[str]:
    """Short tokens first and long ones later, or the other way round."""
    short = [chance.choice("abc,.;12") for _ in range(count // 2)]
    long = ["".join(chance.choices(LETTERS, k=chance.randint(8, 14))) + " " for _ in range(count - count // 2)]
    return short + long if chance.random() < 0.5 else long + short


def rows(chance: random.Random, count: int) -> list[str]:
    return [["0", ",", str(chance.choice([0, 0, 1])), "\n"][place % 4] for place in range(count)]


def refrain(chance: random.Random, count: int) -> list[str]:
    line = [*prose(chance, 12), "\n"]
    return (line * (count // len(line) + 1))[:count]


def log(chance: random.Random, count: int) -> list[str]:
    lines = [["INFO", " heart", "beat", " ok", "\n"], ["WARN", " disk", " slow", "\n"]]
    found: list[str] = []
    while len(found) < count:
        found += chance.choice(lines)
    return found[:count]


def unusual(chance: random.Random, count: int) -> list[str]:
    return [chance.choice(["é", "日本", "👩‍👩‍👧", " ŋ", "ก็", "한", "a", "b "]) for _ in range(count)]


TEXTS: Mapping[str, Callable[[random.Random, int], list[str]]] = {
    one.__name__: one for one in (prose, skewed, rows, refrain, log, unusual)
}
NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
REFUSALS: Mapping[str, tuple[int, dict[str, Any]]] = {
    "429": (429, {"message": "too many requests", "type": "rate_limit"}),
    "500": (500, {"message": "oops", "type": "server_error"}),
    "400": (400, {"message": "bad", "type": "invalid_request_error"}),
}


class Told(NamedTuple):
    """An answer (200), a refusal, or a connection that broke off (status 0) after `said`."""

    status: int
    body: dict[str, Any]
    tokens: int  #: that it took the time of
    said: str = ""


@dataclass(frozen=True)
class WireProvider:
    """Lists are by the call of the turn, and begin again at their end."""

    texts: tuple[tuple[str, ...], ...]  #: tokens of each iteration's answer; all but the last end in tool calls
    calls: int = 1  #: at the end of an answer
    arguments: str = '{"expression": "1 + 1"}'
    reasoning: tuple[int, ...] = (0,)
    told: str = "reported"  #: how reasoning is told: reported, shown, hidden, uncounted
    repeats: tuple[int, ...] = (0,)  #: tokens said again after a hint
    fails: Mapping[int, str | int] = field(default_factory=dict)  #: a refusal, or the tokens before it breaks off
    usage: str = "full"  #: full, none, zero, odd (of every other call)
    prefill: bool = False
    echoes: bool = False
    window: int | None = None
    most: int | None = None  #: max_tokens that it takes
    ending: str | None = "stop"
    end_mark: int = 0  #: tokens that the end takes

    def answer(self, body: Mapping[str, Any], number: int) -> Told:
        cap = body.get("max_tokens") or body.get("max_completion_tokens") or 10**9
        refusal = self._refusal(cap, self.fails.get(number))
        if refusal is not None:
            return Told(*refusal, 0)
        text, echo = self._left_to_say(body["messages"], number)
        prompt = len(json.dumps(body["messages"], ensure_ascii=False))  # no token is shorter than a character
        thought = self.reasoning[(number - 1) % len(self.reasoning)]
        counted = 0 if self.told == "uncounted" else thought
        room = cap if self.window is None else max(0, min(cap, self.window - prompt))
        calls = self._calls(body, number)
        said, whole, spent = self._as_far(text, calls, room - counted)
        before = self.fails.get(number)
        if isinstance(before, int) and len(said) > before:
            return Told(0, {}, before + counted, echo + "".join(said[:before]))
        full = max(0, room) if whole is None else counted + spent
        message = self._message(echo + "".join(said), whole, min(thought, full))
        reported = full + (thought if self.told == "uncounted" else 0)
        choice = {"index": 0, "message": message, "finish_reason": self._finish(whole, calls)}
        answer = {"id": f"r{number}", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        usage = self._usage(prompt, reported, min(thought, reported), number)
        return Told(200, answer | ({"usage": usage} if usage else {}), full, message["content"] or "")

    def _refusal(self, cap: int, fails: str | int | None) -> tuple[int, dict[str, Any]] | None:
        if isinstance(fails, str):
            status, error = REFUSALS[fails]
            return status, {"error": error}
        if self.most is not None and cap > self.most:
            words = f"max_tokens is too large: {cap}. This model supports at most {self.most} completion tokens"
            return 400, {"error": {"message": words, "type": "invalid_request_error", "param": "max_tokens"}}
        return None

    def _left_to_say(self, messages: list[dict[str, Any]], number: int) -> tuple[list[str], str]:
        """The tokens that are left, and what is sent back before them."""
        text = list(self.texts[min(iteration_of(messages), len(self.texts)) - 1])
        last, before = messages[-1], messages[-2] if len(messages) > 1 else {}
        if last["role"] == "assistant":
            said = last["content"] or ""
            return text[place_in(text, said) :], said if self.echoes else ""
        if last["role"] != "system" or before.get("role") != "assistant" or before.get("tool_calls"):
            return text, ""
        repeated = self.repeats[(number - 1) % len(self.repeats)]
        return text[max(0, place_in(text, before["content"] or "") - repeated) :], ""

    def _calls(self, body: Mapping[str, Any], number: int) -> list[dict[str, Any]]:
        if not body.get("tools") or iteration_of(body["messages"]) >= len(self.texts):
            return []
        function = {"name": "calculator", "arguments": self.arguments}
        return [{"id": f"c{number}_{place}", "type": "function", "function": function} for place in range(self.calls)]

    def _as_far(
        self, text: list[str], calls: list[dict[str, Any]], room: int
    ) -> tuple[list[str], list[dict[str, Any]] | None, int]:
        """What is said within so many tokens, its calls (None: it was cut), and the tokens it took."""
        needed = len(text) + len(calls) * self._of_a_call + self.end_mark
        return (text, calls, needed) if needed <= room else (text[: max(0, room)], None, room)

    @property
    def _of_a_call(self) -> int:
        return TOKENS_OF_A_CALL + len(self.arguments) // 4

    def _message(self, said: str, calls: list[dict[str, Any]] | None, thought: int) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said or None}
        if self.told == "shown" and thought:
            message["reasoning_content"] = "hm. " * thought
        if calls:
            message["tool_calls"] = calls
        return message

    def _finish(self, whole: list[dict[str, Any]] | None, calls: list[dict[str, Any]]) -> str | None:
        if whole is None:
            return "length"
        return "tool_calls" if calls else self.ending

    def _usage(self, prompt: int, output: int, thought: int, number: int) -> dict[str, Any] | None:
        if self.usage == "none" or (self.usage == "odd" and number % 2 == 0):
            return None
        if self.usage == "zero":
            return NO_USAGE
        told = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
        if self.told in ("reported", "uncounted") and thought:
            return told | {"completion_tokens_details": {"reasoning_tokens": thought}}
        return told


def iteration_of(messages: list[dict[str, Any]]) -> int:
    """From 1: a question, or tool results, before this answer."""
    return sum(one["role"] == "user" or bool(one.get("tool_calls")) for one in messages)


def place_in(text: list[str], said: str) -> int:
    """How many tokens of the text stand in what was said, by its end."""
    whole, reached = "".join(text), len(said)
    if not whole.startswith(said):
        tail = said[-12:]
        reached = whole.rfind(tail) + len(tail) if tail in whole else min(len(said), len(whole))
    count = characters = 0
    while count < len(text) and characters < reached:
        characters += len(text[count])
        count += 1
    return count
