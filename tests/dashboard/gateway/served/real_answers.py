"""Answers as providers send them, in every dialect, and what chance makes of them on their way."""

import base64
import http.client
import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agentcore.messages import ChatRequest, Message, Role
from agentcore.providers import get_provider

CORPUS = Path(__file__).parents[4] / os.environ.get("WHYSTOP_CORPUS", "../shared/corpus")
#: Models of the simulator whose answers end well: in text, in calls.
MODELS = ("sim-essay", "sim-tools")
#: Pieces that stand in such answers, so that chance meets what is looked at.
_STRAY = (
    b"\n\n",
    b"\r",
    b"data: ",
    b"event: error\n",
    b"\0",
    b"[DONE]",
    b"}",
    b'"',
    b"\xff",
    b"\xed\xa0\x80",
    b"null,",
)


@dataclass(frozen=True, slots=True)
class RealAnswer:
    """What came under status 200; `name` says where from."""

    name: str
    dialect: str
    content_type: str
    body: bytes


def simulated(dialect: str, base_url: str, *, stream: bool) -> Iterator[RealAnswer]:
    """What the simulator answers."""
    provider = get_provider(dialect)
    for model in MODELS:
        request = ChatRequest(model, (Message(Role.USER, "Why do agents stop?"),), 60, stream=stream)
        parts = urlsplit(base_url.rstrip("/") + provider.path(request))
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request("POST", target, json.dumps(provider.encode_request(request)), provider.headers("key"))
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        yield RealAnswer(model, dialect, answer.headers["content-type"], answer.read())
        connection.close()


def recorded(dialect: str, *, stream: bool) -> Iterator[RealAnswer]:
    """What a public project has recorded, where such recordings are at hand."""
    path = CORPUS / f"{dialect}.jsonl"
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["status"] == 200 and row["dialect"] != "error" and (row["mode"] == "stream") == stream:
            body = base64.b64decode(row["body_base64"]) if "body_base64" in row else row["body"].encode()
            yield RealAnswer(row["id"], dialect, row["content_type"] or "", body)


def mangled(data: bytes, dice: random.Random) -> bytes:
    """Some bytes taken out, doubled, changed, put in or cut off."""
    for _ in range(dice.randint(1, 3)):
        at, span = dice.randrange(len(data) or 1), dice.randint(1, 40)
        match dice.randrange(5):
            case 0:
                data = data[:at] + data[at + span :]
            case 1:
                data = data[: at + span] + data[at:]
            case 2:
                data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
            case 3:
                data = data[:at] + dice.choice(_STRAY) + data[at:]
            case _:
                data = data[: max(1, at)]
    return data or b"x"


def in_pieces(data: bytes, dice: random.Random) -> list[bytes]:
    """The same, cut anywhere."""
    cuts = sorted(dice.randrange(len(data) + 1) for _ in range(3))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
