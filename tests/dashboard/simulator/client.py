"""A small reader of the OpenAI wire format on the standard library, so that our codec is no judge here."""

import http.client
import json
from dataclasses import dataclass, field
from typing import Any

CALCULATOR = {"type": "function", "function": {"name": "calculator", "parameters": {"type": "object"}}}
HINT = (
    "Previous response was truncated by token limit.\nContinue exactly from where you left off.\n"
    "If you intended a tool call, emit one complete tool call payload only.\nDo not repeat already-sent text."
)


@dataclass(slots=True)
class Answer:
    """What came back. `calls`: name and argument text by index. `ended`: the end mark or the declared length came."""

    status: int
    headers: dict[str, str]
    body: bytes
    text: str | None = None
    calls: dict[int, list[str]] = field(default_factory=dict)
    reason: str | None = None
    usage: dict[str, Any] | None = None
    ended: bool = False
    chunks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = json.loads(self.body)["error"]
        return error

    @property
    def tokens(self) -> int:
        assert self.usage is not None
        tokens: int = self.usage["completion_tokens"]
        return tokens


@dataclass(frozen=True, slots=True)
class Client:
    """Speaks to a simulator on `port`."""

    port: int
    patience: float = 60  #: seconds without a byte

    def send(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            try:
                data, ended = response.read(), True
            except http.client.IncompleteRead as broken:
                data, ended = broken.partial, False
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, data, ended=ended)
        finally:
            connection.close()

    def ask(self, model: str, messages: list[dict[str, Any]] | None = None, /, **body: Any) -> Answer:
        """`headers` in `body` go out as headers; everything else is the request."""
        headers = body.pop("headers", {})
        request = {"model": model, "messages": messages or [user("Tell me.")], **body}
        answer = self.send("POST", "/v1/chat/completions", json.dumps(request).encode(), headers)
        if answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream"):
            _read_stream(answer)
        elif answer.status == 200 and answer.headers["content-type"] == "application/json" and answer.ended:
            _read_whole(answer)
        return answer

    def ask_to_go_on(self, model: str, so_far: str, hint_role: str = "system", /, **body: Any) -> Answer:
        return self.ask(model, [user("Tell me."), assistant(so_far), {"role": hint_role, "content": HINT}], **body)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def _read_whole(answer: Answer) -> None:
    whole = json.loads(answer.body)
    (choice,) = whole["choices"]
    message = choice["message"]
    answer.text, answer.reason, answer.usage = message["content"], choice["finish_reason"], whole.get("usage")
    for index, call in enumerate(message.get("tool_calls", [])):
        answer.calls[index] = [call["function"]["name"], call["function"]["arguments"]]


def _read_stream(answer: Answer) -> None:
    events = answer.body.decode().split("\n\n")
    answer.ended = answer.ended and events[-2:] == ["data: [DONE]", ""]
    answer.text = ""
    for event in events:
        if event and event != "data: [DONE]":
            answer.chunks.append(json.loads(event.removeprefix("data: ")))
    for chunk in answer.chunks:
        answer.usage = chunk.get("usage") or answer.usage
        for choice in chunk["choices"]:
            answer.reason = choice["finish_reason"] or answer.reason
            answer.text += choice["delta"].get("content") or ""
            _add_calls(answer, choice["delta"].get("tool_calls", []))


def _add_calls(answer: Answer, deltas: list[dict[str, Any]]) -> None:
    for delta in deltas:
        call = answer.calls.setdefault(delta["index"], [delta["function"].get("name", ""), ""])
        call[1] += delta["function"]["arguments"]
