"""`python -m dashboard.bench.abuse.provider`: an OpenAI-style provider whose answer depends on the model's name.

`bomb`: an answer that unpacks to a thousand times its size. `said-N`: the Nth text of `TEXTS`. `one`, `deep`, `long`,
`numbers`: what makes schemas dear. `cut`: a sentence that is said to be cut, another one each time. Any other: a
sentence.
"""

import gzip
import json
from itertools import count

from aiohttp import web

from dashboard.bench.gateway.bench_process import run, serve_posts

BOMB_BYTES = 600_000_000  #: unpacked
TEXT_CHARS = 80_000
RUNS = ("a_", "<!--", "a1@", "a-1-", "./", "~/")
TEXTS = tuple(run * (TEXT_CHARS // len(run)) for run in RUNS)
DEPTH = 60
NUMBERS, DIGITS = 4_000, 20  #: of a list of long integers
SENTENCE = "An agent stops when its policy, its budget or its model says so."
_CUTS = count(1)
SAID = {
    "one": "1",
    "long": f'"{"a" * TEXT_CHARS}"',
    "numbers": json.dumps([10**DIGITS + number for number in range(NUMBERS)]),
    "deep": '{"x":' * DEPTH + "{}" + "}" * DEPTH,
    **{f"said-{number}": text for number, text in enumerate(TEXTS)},
}


def _answer(text: str, finish_reason: str = "stop") -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 19, "completion_tokens": 24, "total_tokens": 43}
    said = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps(said).encode()


def _bomb() -> bytes:
    """Made of blocks that are all the same, so that it takes no memory here either."""
    head, tail = _answer("HERE").split(b"HERE")
    block = gzip.compress(b"a" * 10_000_000)
    return gzip.compress(head) + block * (BOMB_BYTES // 10_000_000) + gzip.compress(tail)


BOMB = _bomb()


async def answer(request: web.Request) -> web.Response:
    model = (await request.json())["model"]
    if model == "cut":
        body = _answer(f"{next(_CUTS)}: {SENTENCE} ", "length")
        return web.Response(body=body, content_type="application/json")
    if model == "bomb":
        return web.Response(body=BOMB, content_type="application/json", headers={"Content-Encoding": "gzip"})
    return web.Response(body=_answer(SAID.get(model, SENTENCE)), content_type="application/json")


if __name__ == "__main__":
    run(serve_posts(answer))
