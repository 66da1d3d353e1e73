"""Cursor's state.vscdb: chats and their bubbles as values by key, and the chats of older releases.

Only these keys are read: others hold the user's credentials. Each statement is over before its rows are worked on, so
that Cursor, which may be running, never waits.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.ingest.conventions.content.shapes import mapping, mappings, words
from dashboard.ingest.logs.line_reader import MOST_LINE
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts import cursor
from dashboard.ingest.logs.transcripts.bounded_sqlite import BoundedDatabase
from dashboard.ingest.logs.transcripts.message_sessions import Document, MessageSessions
from dashboard.ingest.logs.values import Fault, Found, Json, UnreadableError
from dashboard.platform.strict_json import read_strictly

_COLUMNS = frozenset({"key", "value"})
_NEW, _OLD = "cursorDiskKV", "ItemTable"
_TABS, _COMPOSERS = "workbench.panel.aichat.view.aichat.chatdata", "composer.composerData"
_LISTED = "SELECT key FROM cursorDiskKV WHERE key > ? AND key < 'composerData;' ORDER BY key LIMIT 200"
_SIZES = {table: f"SELECT length(CAST(value AS blob)) FROM {table} WHERE key = ?" for table in (_NEW, _OLD)}  # noqa: S608
_VALUES = {table: f"SELECT CAST(value AS blob) FROM {table} WHERE key = ?" for table in (_NEW, _OLD)}  # noqa: S608
TOO_LONG = f"{{key}}: The value is longer than {MOST_LINE // 2**20} MiB."
NO_CHAT = "{key}: The value is not in the form that Cursor writes."
GONE = "{key}: The chat names this message, but the database does not contain it."


def fits(columns: Mapping[str, set[str]]) -> bool:
    """Whether the database is one of Cursor, or of the editor that it is made from."""
    return columns.get(_OLD, set()) >= _COLUMNS or columns.get(_NEW, set()) >= _COLUMNS


@dataclass(slots=True)
class Chats:
    """Reads the chats of a database. A value is counted as a line of a log is."""

    database: BoundedDatabase
    _line: int = 0
    _faults: list[Fault] = field(default_factory=list)  #: of bubbles, until they are told

    def turns(self) -> Iterator[Found]:
        for tables, chats in ((_NEW, self._new), (_OLD, self._old)):
            if self.database.columns().get(tables, set()) >= _COLUMNS:
                yield from chats()

    def _new(self) -> Iterator[Found]:
        last = "composerData:"
        while keys := [key for (key,) in self.database.rows(_LISTED, last)]:
            for key in keys:
                chat = self._value(_NEW, key)
                yield from self._told()
                if chat is not None:
                    yield from self._chat(words(key).partition(":")[2], chat)
            last = keys[-1]

    def _old(self) -> Iterator[Found]:
        for key, chats in ((_COMPOSERS, _with_bubbles), (_TABS, _tabs)):
            if self.database.row("SELECT 1 FROM ItemTable WHERE key = ?", key) is None:
                continue
            told = self._value(_OLD, key)
            yield from self._told()
            for name, chat in () if told is None else chats(told):
                yield from self._chat(name, chat)

    def _chat(self, name: str, chat: Json) -> Iterator[Found]:
        began = moment_of(chat.get("createdAt") or chat.get("lastSendTime")) or 0
        reader = MessageSessions(cursor.AGENT, lambda _: None, Document(name, began))
        try:
            for number, spoken in enumerate(cursor.messages(self._bubbles(name, chat), words(chat.get("status"))), 1):
                yield from self._told()
                yield from reader.take_message(spoken, name=spoken.name or str(number), line=self._line, told=chat)
        except (sqlite3.Error, UnicodeDecodeError):
            yield from reader.end()  # what was read before the damage
            raise
        yield from self._told()
        yield from reader.end()

    def _bubbles(self, name: str, chat: Json) -> Iterator[Json]:
        kept = mapping(chat.get("conversationMap"))
        for header in mappings(chat.get("fullConversationHeadersOnly")):
            bubble_id = words(header.get("bubbleId"))
            bubble = mapping(kept.get(bubble_id)) or self._value(_NEW, f"bubbleId:{name}:{bubble_id}")
            if bubble is not None:
                yield {"type": header.get("type"), "bubbleId": bubble_id, **bubble}
        if not chat.get("fullConversationHeadersOnly"):
            for bubble in mappings(chat.get("conversation")):
                self._line += 1
                yield bubble

    def _value(self, table: str, key: str) -> Json | None:
        """The object at a key; None where there is none, which is told of then."""
        self._line += 1
        try:
            return self._read(table, key)
        except sqlite3.DataError:  # the limit of a value's length
            why = TOO_LONG
        except UnreadableError as error:
            why = str(error)
        except (TypeError, ValueError):
            why = NO_CHAT
        self._faults.append(Fault(self._line, why.format(key=key[:200])))
        return None

    def _read(self, table: str, key: str) -> Json:
        row = self.database.row(_SIZES[table], key)
        if row is None or row[0] is None:
            raise UnreadableError(GONE)
        if row[0] > MOST_LINE:
            raise UnreadableError(TOO_LONG)
        self.database.spend(row[0])
        told: Any = read_strictly(self.database.row(_VALUES[table], key)[0])
        if not isinstance(told, dict):
            raise TypeError
        return told

    def _told(self) -> Iterator[Fault]:
        faults, self._faults = self._faults, []
        yield from faults


def _with_bubbles(told: Json) -> Iterator[tuple[str, Json]]:
    """The chats of a folder; only older releases keep what was said with them."""
    for chat in mappings(told.get("allComposers")):
        if chat.get("conversation"):
            yield words(chat.get("composerId")), chat


def _tabs(told: Json) -> Iterator[tuple[str, Json]]:
    for tab in mappings(told.get("tabs")):
        yield words(tab.get("tabId") or tab.get("id")), {**tab, "conversation": tab.get("bubbles")}
