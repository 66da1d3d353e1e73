"""Reads the token usage of a relayed answer in passing; the answer is not kept."""

import json
import re
from dataclasses import dataclass, field

from agentcore.messages import TokenUsage
from agentcore.providers.wire.untrusted_json import count, mapping

CHARACTERS_PER_TOKEN = 4  #: of a request, where its provider did not count
WINDOW = 8 * 1024  #: bytes at the beginning and at the end of an answer, where providers say what it used
EVENT = b"data:"  #: begins what an event of a stream holds
_USAGE = re.compile(rb'"usage"\s*:\s*(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})')


@dataclass(slots=True)
class UsageReader:
    """One request and its answer. `asked`: bytes; `answered`: whether it is one, and no error."""

    asked: int = 0
    answered: bool = False
    _events: int = field(default=0, init=False)  #: of a stream; each holds about a token
    _head: bytes = field(default=b"", init=False)
    _tail: bytes = field(default=b"", init=False)

    def take(self, part: bytes) -> None:
        """More of the answer."""
        if len(self._head) < WINDOW:
            self._head += part[: WINDOW - len(self._head)]
        before, self._tail = self._tail, (self._tail + part[-WINDOW:])[-WINDOW:]
        joined = before[-len(EVENT) + 1 :] + part
        self._events += joined.count(EVENT)

    def used(self) -> TokenUsage | None:
        """What it says it used; by our estimate where it does not say. None for what was not answered."""
        if not self.answered:
            return None
        found = [*_USAGE.findall(self._head), *_USAGE.findall(self._tail)]
        told = [usage for each in found if (usage := _read(each)) is not None]
        return told[-1] if told else TokenUsage(self.asked // CHARACTERS_PER_TOKEN, self._events)


def _read(text: bytes) -> TokenUsage | None:
    """Usage as OpenAI's other addresses tell it."""
    try:
        usage = mapping(json.loads(text))
    except ValueError:
        return None
    total, asked = count(usage.get("total_tokens")), count(usage.get("prompt_tokens"))
    asked = count(usage.get("input_tokens")) if asked is None else asked
    said = count(usage.get("completion_tokens"))
    said = count(usage.get("output_tokens")) if said is None else said
    if asked is None and total is None:
        return None
    taken = asked if asked is not None else total or 0
    return TokenUsage(taken, said if said is not None else max(0, (total or 0) - taken))
