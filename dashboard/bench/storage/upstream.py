"""`python -m dashboard.bench.storage.upstream`: an OpenAI-style provider that says as much as it is asked for.

The model's name tells how many characters: `prose-2000`. No two answers are alike.
"""

import json
from itertools import count
from typing import Any

from aiohttp import web

from dashboard.bench.gateway.bench_process import run, serve_posts
from dashboard.bench.storage.prose import prose

_NAMED = {"id": "chatcmpl-bench", "created": 1_767_225_600, "model": "prose"}
_numbers = count(1)


async def answer(request: web.Request) -> web.StreamResponse:
    asked = await request.json()
    words = prose(f"answer {next(_numbers)}", int(asked["model"].rpartition("-")[2]))
    usage = {"prompt_tokens": len(json.dumps(asked["messages"])) // 4, "completion_tokens": len(words) // 4}
    usage["total_tokens"] = sum(usage.values())
    if not asked.get("stream"):
        message = {"role": "assistant", "content": words, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return web.json_response({**_NAMED, "object": "chat.completion", "choices": [choice], "usage": usage})
    streamed = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await streamed.prepare(request)
    for token in words.split(" "):
        await streamed.write(_event({"content": f"{token} "}, None))
    await streamed.write(_event({}, "stop") + b"data: [DONE]\n\n")
    await streamed.write_eof()
    return streamed


def _event(delta: dict[str, str], reason: str | None) -> bytes:
    choice: dict[str, Any] = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return b"data: %s\n\n" % json.dumps({**_NAMED, "object": "chat.completion.chunk", "choices": [choice]}).encode()


if __name__ == "__main__":
    run(serve_posts(answer))
