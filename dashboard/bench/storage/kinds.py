"""The kinds of traffic that are stored, and what each contains: the text that anybody said, each once."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any

from dashboard.bench.measurements import BenchError
from dashboard.bench.storage.prose import prose

FIRST_CALLS, SINGLE_CALLS, SINGLE_CHARS = 40, 200, 2_000
SAID_CHARS, RESULT_CHARS = 400, 1_650
TOOLS_BYTES = 30_000


@dataclass(slots=True)
class Content:
    """What was said, each text once; `calls`: how many turns were made of it."""

    texts: dict[str, None] = field(default_factory=dict)
    calls: int = 0

    def add(self, *texts: str) -> None:
        self.texts.update(dict.fromkeys(texts))

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(len(text.encode()) for text in self.texts)


@dataclass(frozen=True, slots=True)
class Gateway:
    """Where calls go, and with which key."""

    port: int
    token: str

    def ask(self, body: Mapping[str, Any]) -> str:
        """The text of the answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        said = answer.read().decode()
        connection.close()
        if answer.status != 200:
            raise BenchError(f"A call was answered {answer.status}: {said[:300]}")
        return _streamed(said) if body.get("stream") else json.loads(said)["choices"][0]["message"]["content"]


def _streamed(said: str) -> str:
    events = (line[6:] for line in said.splitlines() if line.startswith("data: {"))
    choices = (choice for event in events for choice in json.loads(event)["choices"])
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def singles(first: int, count: int, *, stream: bool = False) -> Callable[[Gateway], Content]:
    """So many single calls, beginning with the number `first`, so that no question comes twice."""

    def run(gateway: Gateway) -> Content:
        content = Content()
        for number in range(first, first + count):
            asked = prose(f"question {number} {stream}", SINGLE_CHARS)
            messages = [{"role": "user", "content": asked}]
            body = {"model": f"bench/prose-{SINGLE_CHARS}", "messages": messages, "stream": stream}
            content.add(asked, gateway.ask(body))
            content.calls += 1
        return content

    return run


def agent(steps: int, tools: int = 0) -> Callable[[Gateway], Content]:
    """An agent of so many steps, each with the whole history; with so many bytes of tool definitions."""

    def run(gateway: Gateway) -> Content:
        content, offered = Content(), list(_tools(tools))
        system = prose(f"system {steps}", 1_000)
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
        content.add(system, *map(json.dumps, offered))
        for step in range(steps):
            result = prose(f"result {steps} {step}", RESULT_CHARS)
            messages.append({"role": "user", "content": result})
            more = {"tools": offered} if offered else {}
            body = {"model": f"bench/prose-{SAID_CHARS}", "messages": messages} | more
            said = gateway.ask(body)
            messages.append({"role": "assistant", "content": said})
            content.add(result, said)
            content.calls += 1
        return content

    return run


def _tools(size: int) -> Iterator[Mapping[str, Any]]:
    made = 0
    while made < size:
        name = f"tool_{made}"
        parameters = {"type": "object", "properties": {"path": {"type": "string", "description": prose(name, 200)}}}
        function = {"name": name, "description": prose(f"{name}?", 600), "parameters": parameters}
        tool = {"type": "function", "function": function}
        made += len(json.dumps(tool))
        yield tool


#: The first calls are told apart: with them each table, index and map gets its first pages, and the index of words
#: meets most of its words, however many calls follow.
KINDS: Mapping[str, Callable[[Gateway], Content]] = {
    f"the first {FIRST_CALLS} calls": singles(0, FIRST_CALLS),
    "single calls of 4 kB, whole": singles(FIRST_CALLS, SINGLE_CALLS),
    "single calls of 4 kB, streamed": singles(0, SINGLE_CALLS, stream=True),
    "an agent of 40 steps": agent(40),
    "an agent of 200 steps, 30 kB of tools": agent(200, TOOLS_BYTES),
}
