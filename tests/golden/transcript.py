"""One exchange with the gateway as a readable text: what was asked, and what came back, line by line as it came.

What is different each time stands there as a placeholder, numbered where there are several: `<id>`, `<created>`,
`<call>`, `<call 2>`, `<turn>`, `<upstream>`. The same value is the same placeholder. Everything else is exact: the
order of the lines, of the keys within them, every text and number. Comments that only keep a connection alive are left
out.
"""

import http.client
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

#: Headers that say something of the answer; of others the transcript is silent.
KEPT = re.compile(r"content-type|x-whystop-.*|retry-after|x-should-retry|request-id")
_PLACEHOLDERS = (
    ("turn", re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")),
    ("id", re.compile(r"\b(?:(?:chatcmpl-|msg_|resp_|rs_|fc_)[\w-]+|[0-9a-f]{32}\b)")),
    ("request", re.compile(r"\breq_[0-9a-f]{32}\b")),
    ("upstream", re.compile(r"\bhttp://127\.0\.0\.1:\d+")),
    ("call", re.compile(r"\b(?:call|toolu|srvtoolu)_(?!id\b)\w+")),
)
_KEEP_ALIVE = re.compile(r": keep-alive\n\n")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: `headers` under lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")


def ask(address: str, body: Mapping[str, Any], token: str, door: str) -> Answer:
    """Put one request to a door of the gateway at `address`, and read all of its answer."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", door, json.dumps(body), headers)
        answer = connection.getresponse()
        return Answer(
            answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        )
    finally:
        connection.close()


def written(body: Mapping[str, Any], answer: Answer, door: str) -> str:
    """The transcript of an exchange."""
    names = _Names()
    kept = [f"{name}: {value}" for name, value in sorted(answer.headers.items()) if KEPT.fullmatch(name)]
    lines = [f"POST {door}", "", _pretty(body), "", f"{answer.status}", *kept, "", _body(answer, names)]
    return names.placed("\n".join(lines).rstrip("\n") + "\n")


def _body(answer: Answer, names: "_Names") -> str:
    if answer.is_stream:
        return "\n".join(_line(line, names) for line in _KEEP_ALIVE.sub("", answer.body).split("\n"))
    return _pretty(names.in_value(json.loads(answer.body)))


def _line(line: str, names: "_Names") -> str:
    """One line of a stream; JSON is written again, so that characters can be read."""
    if not line.startswith("data: {"):
        return line
    return "data: " + json.dumps(names.in_value(json.loads(line.removeprefix("data: "))), ensure_ascii=False)


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@dataclass(slots=True)
class _Names:
    """The placeholders given so far, by what they stand for."""

    given: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, kind: str, value: str) -> str:
        if (kind, value) not in self.given:
            number = 1 + sum(1 for known, _ in self.given if known == kind)
            self.given[kind, value] = f"<{kind}>" if number == 1 else f"<{kind} {number}>"
        return self.given[kind, value]

    def in_value(self, value: Any) -> Any:
        """A JSON value with placeholders where a key says that what it holds is different each time."""
        match value:
            case dict():
                times = {key: self.of("created", str(value[key])) for key in ("created", "created_at") if key in value}
                return {key: self.in_value(held) for key, held in value.items()} | times
            case list():
                return [self.in_value(held) for held in value]
            case _:
                return value

    def placed(self, text: str) -> str:
        """A text with placeholders for what looks as if it were different each time."""
        for kind, pattern in _PLACEHOLDERS:
            text = pattern.sub(lambda found, kind=kind: self.of(kind, found[0]), text)
        return text
