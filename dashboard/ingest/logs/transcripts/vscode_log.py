"""…/User/workspaceStorage/*/chatSessions/*.jsonl of newer releases of Visual Studio Code: a chat as its document at
first, and then what was changed in it, line by line."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from dashboard.ingest.conventions.content.shapes import mapping
from dashboard.ingest.logs.transcripts import vscode_chat
from dashboard.ingest.logs.transcripts.message_sessions import WholeSessions
from dashboard.ingest.logs.transcripts.session_calls import MOST_HELD
from dashboard.ingest.logs.values import Episode, Found, Json, Skipped, UnreadableError

NO_PLACE = "It changes a place that the chat does not have."
TOO_LARGE = f"The chat is larger than {MOST_HELD // 2**20} MiB; this and later changes of it were not read."


class Kind(IntEnum):
    INITIAL = 0
    SET = 1
    PUSH = 2  #: `i`: all from there on is removed first
    DELETE = 3


def fits(told: Json) -> bool:
    kind = told.get("kind")
    if isinstance(kind, bool) or kind not in tuple(Kind):
        return False
    return vscode_chat.fits(mapping(told.get("v"))) if kind == Kind.INITIAL else isinstance(told.get("k"), list)


@dataclass(slots=True)
class Session:
    """Reads the changes one after another; the turns are those of the document as it is at the end."""

    _chat: Any = None
    _held: int = 0  #: bytes, about
    _line: int = 0

    def take(self, told: Json, line: int) -> Iterator[Found]:
        if told["kind"] == Kind.INITIAL:
            yield from self.end()
            self._chat, self._held = told["v"], 0
        self._held += _weight(told.get("v"))
        if self._held > MOST_HELD:
            raise UnreadableError(TOO_LARGE)
        if told["kind"] != Kind.INITIAL:
            try:
                self._change(told)
            except (LookupError, TypeError, ValueError, AttributeError):
                raise UnreadableError(NO_PLACE) from None
        self._line = line
        yield Skipped(line)

    def end(self) -> Iterator[Episode]:
        chat, self._chat = self._chat, None
        if chat is not None and vscode_chat.fits(chat):
            found = WholeSessions(vscode_chat.AGENT, vscode_chat.session_of).take(chat, self._line)
            yield from (one for one in found if isinstance(one, Episode))

    def _change(self, told: Json) -> None:
        *above, last = told["k"]
        place = self._chat
        for key in above:
            place = place[key]
        match told["kind"]:
            case Kind.SET:
                place[last] = told.get("v")
            case Kind.DELETE:
                del place[last]
            case Kind.PUSH:
                _pushed(place, last, told)


def _weight(told: Any) -> int:
    """Bytes that it takes in memory, about: an empty object has two characters, and takes thirty times as many."""
    weight, left = 0, [told]
    while left:
        one = left.pop()
        weight += sys.getsizeof(one)
        left.extend(one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
    return weight


def _pushed(place: Any, last: Any, told: Json) -> None:
    if isinstance(place, dict):
        place.setdefault(last, [])
    if "i" in told:
        del place[last][told["i"] :]
    place[last].extend(told.get("v") or ())
