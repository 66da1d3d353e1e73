"""A provider that writes on from a prefill, and never answers a question twice in the same words: each answer is longer
than the one before. It speaks OpenAI's dialect, streamed, with usage."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.threaded_server import in_a_thread

FIRST, MORE = 100, 200  #: tokens of the first answer; of each further one so many more


@contextmanager
def forgetful_provider() -> Iterator[str]:
    """Its address, as a connection has it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    with in_a_thread(server):
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    asked = 0  #: first calls so far

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written beside the tests."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        last = body["messages"][-1]
        before = last["content"] if last["role"] == "assistant" else ""
        if not before:
            _Handler.asked += 1
        nth = int(before.split("-")[0]) if before else _Handler.asked
        said, cap = len(before.split()), body["max_tokens"]
        words = [f"{nth}-{place} " for place in range(said, min(said + cap, FIRST + MORE * (nth - 1)))]
        self._stream("".join(words), "length" if len(words) == cap else "stop", len(words))

    def _stream(self, text: str, reason: str, tokens: int) -> None:
        usage = {"prompt_tokens": 20, "completion_tokens": tokens, "total_tokens": 20 + tokens}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        choices = ({"delta": {"content": text}}, {"delta": {}, "finish_reason": reason})
        parts = [{"choices": [{"index": 0, **choice}]} for choice in choices]
        for part in (*parts, {"choices": [], "usage": usage}):
            told = {"id": "1", "object": "chat.completion.chunk", "model": "forgets", **part}
            self.wfile.write(f"data: {json.dumps(told)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
