"""Small OpenAI-style servers that differ in what they do with a last assistant message."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dashboard.simulator.texts import LISTS
from tests.threaded_server import in_a_thread

_NEW = 20  #: characters of an answer, about what a dozen tokens have


class TinyServer(StrEnum):
    """`CLEVER_CHAT` only chats on, and guesses how its last message goes on."""

    VLLM = "continues by continue_final_message, else begins anew"
    MISTRAL = "continues by prefix, else refuses"
    CLEVER_CHAT = "guesses the rest of a word, and loses the blank between words"
    STRICT_CHAT = "begins anew, and refuses fields that it does not know"
    ALWAYS_400 = "refuses everything"


@contextmanager
def serving_chat(kind: TinyServer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Its address, and the bodies that it is asked with."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body)
            text = _answer(kind, body)
            self._send(200, _streamed(text)) if text is not None else self._send(400, _REFUSED)

        def _send(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "text/event-stream" if status == 200 else "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with in_a_thread(server):
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked


_REFUSED = b'{"error": {"message": "Expected last role User or Tool", "type": "invalid_request_error"}}'


def _answer(kind: TinyServer, body: Mapping[str, Any]) -> str | None:
    question, last = body["messages"][0]["content"].lower(), body["messages"][-1]
    whole = next(text for words, text in LISTS.items() if words in question)
    rest = whole[len(last["content"]) :] if last["role"] == "assistant" else whole
    match kind:
        case TinyServer.VLLM:
            goes_on = body.get("continue_final_message") and body.get("add_generation_prompt") is False
            return rest if goes_on else whole
        case TinyServer.MISTRAL:
            return rest if last.get("prefix") or last["role"] == "user" else None
        case TinyServer.CLEVER_CHAT:
            return rest.lstrip()
        case TinyServer.STRICT_CHAT:
            return None if "prefix" in last or "continue_final_message" in body else whole
        case TinyServer.ALWAYS_400:
            return None


def _streamed(text: str) -> bytes:
    def event(delta: dict[str, str], reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return b"data: " + json.dumps({"id": "a", "model": "any", "choices": [choice]}).encode() + b"\n\n"

    return event({"role": "assistant", "content": text[:_NEW]}, None) + event({}, "length") + b"data: [DONE]\n\n"
