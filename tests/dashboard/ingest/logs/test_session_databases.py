"""The SQLite databases in which Goose and Crush keep their sessions: the tables are those of their own migrations."""

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from dashboard.ingest.logs.session_databases import NO_MESSAGE, NO_TABLES, NOT_READ, read
from dashboard.ingest.logs.transcripts.bounded_sqlite import CHANGED, BoundedDatabase, opened
from dashboard.ingest.logs.values import Fault
from dashboard.ingest.models import Ingested
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.ingest.logs.test_message_transcripts import GOOSE

GOOSE_TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL,
    total_tokens INTEGER);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
    timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
"""
CRUSH_TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
    parts BLOB NOT NULL DEFAULT '[]', model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    finished_at INTEGER);
"""
BEGAN = 1_760_000_000  #: seconds

Part = dict[str, Any]
Run = Callable[..., tuple[str, str]]


def part(kind: str, **data: Any) -> Part:
    return {"type": kind, "data": data}


def finish(reason: str, **more: Any) -> Part:
    return part("finish", reason=reason, time=BEGAN, **more)


CALL = part("tool_call", id="c1", name="ls", input='{"path":"."}', finished=True)
MADE = part("tool_result", tool_call_id="c1", name="ls", content="a b c", is_error=False)
#: Of each message: session, role, parts, model and provider, and seconds after the beginning, created and finished.
CRUSH: list[tuple[str, str, list[Part], str, str, int, int | None]] = [
    ("s", "user", [part("text", text="How many files?"), finish("stop")], "", "", 0, None),
    ("s", "assistant", [part("reasoning", thinking="List."), CALL, finish("tool_use")], "m-1", "anthropic", 1, 3),
    ("s", "tool", [MADE, finish("stop")], "", "", 4, None),
    ("s", "assistant", [part("text", text="Thr"), finish("max_tokens")], "m-1", "anthropic", 5, 9),
    ("t", "user", [part("text", text="Go on")], "", "", 20, None),
    ("t", "assistant", [finish("error", message="Overloaded", details="529")], "m-1", "anthropic", 21, 22),
    ("u", "user", [part("text", text="Stop")], "", "", 30, None),
    ("u", "assistant", [part("text", text="Wai"), finish("canceled")], "m-1", "anthropic", 31, 32),
]
#: The same as records.
CRUSH_MESSAGES: list[Part] = [
    {
        "id": f"m{place}", "session_id": session, "role": role, "parts": parts, "model": model, "provider": provider,
        "created_at": BEGAN + begun, "finished_at": None if ended is None else BEGAN + ended,
    }
    for place, (session, role, parts, model, provider, begun, ended) in enumerate(CRUSH)
]  # fmt: skip


@pytest.fixture
def run(transactional_db: None) -> Run:
    def run(*paths: Path) -> tuple[str, str]:
        out, err = StringIO(), StringIO()
        call_command("import", *paths, stdout=out, stderr=err)
        return out.getvalue().splitlines()[-1], err.getvalue()

    return run


def goose_database(path: Path, contents: Iterable[str] = ()) -> None:
    """`contents`: of more messages."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(GOOSE_TABLES)
        insert = "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?, ?, ?, ?)"
        for one in GOOSE[1:]:
            database.execute(insert, ["20251009_1", one["role"], json.dumps(one["content"]), one["created"]])
        for content in contents:
            database.execute(insert, ["20251009_2", "user", content, 1_760_000_100])
        database.commit()


def crush_database(path: Path, *, older: bool = False) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(CRUSH_TABLES)
        if not older:
            database.execute("ALTER TABLE messages ADD COLUMN provider TEXT")
        for place, (session, role, parts, model, provider, begun, ended) in enumerate(CRUSH):
            told = [f"m{place}", session, role, json.dumps(parts), model, BEGAN + begun, BEGAN]
            told += [None if ended is None else BEGAN + ended, *(() if older else (provider,))]
            database.execute(f"INSERT INTO messages VALUES ({', '.join('?' * len(told))})", told)
        database.commit()


def test_gooses_database_is_imported_from_the_home_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    folder = tmp_path / ".local/share/goose/sessions"
    folder.mkdir(parents=True)
    goose_database(folder / "sessions.db")
    assert run() == ("1 file: 1 turn imported, 0 here already, 0 refused.", "")
    turn = Turn.objects.get()
    assert (turn.agent_name, turn.input_text, turn.attempts, turn.model) == ("goose", "How many files?", 2, "unknown")
    notes = {note["code"] for note in Ingested.objects.get().notes}
    assert {"reason_unknown", "usage_unknown"} <= notes
    assert run() == ("1 file: 0 turns imported, 1 here already, 0 refused.", "")


def test_two_sessions_of_a_database_with_the_same_beginning_are_two(run: Run, tmp_path: Path) -> None:
    goose_database(tmp_path / "sessions.db")
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as database:
        database.execute(
            "INSERT INTO messages (session_id, role, content_json, created_timestamp) "
            "SELECT 'other', role, content_json, created_timestamp FROM messages"
        )
        database.commit()
    assert run(tmp_path) == ("1 file: 2 turns imported, 0 here already, 0 refused.", "")


@pytest.mark.parametrize("content", ["no JSON", "{}", "7"])
def test_a_damaged_message_of_goose_is_refused_by_number(run: Run, tmp_path: Path, content: str) -> None:
    path = tmp_path / "sessions.db"
    goose_database(path, [content])
    assert run(path) == ("1 file: 1 turn imported, 0 here already, 1 refused.", f"{path}:5: {NO_MESSAGE}\n")


def test_crushs_database_records_how_each_call_ended(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "project/.crush"
    folder.mkdir(parents=True)
    crush_database(folder / "crush.db")
    assert run(tmp_path) == ("1 file: 3 turns imported, 0 here already, 0 refused.", "")
    cut, failed, canceled = Turn.objects.order_by("created_at")
    assert (cut.agent_name, cut.provider, cut.model) == ("crush", "anthropic", "m-1")
    reasons = Attempt.objects.filter(turn_id=cut.id).order_by("index").values_list("raw_stop_reason", flat=True)
    assert list(reasons) == ["tool_use", "max_tokens"]
    assert (cut.model_stop_reason, cut.input_text) == ("max_tokens", "How many files?")
    assert "Overloaded: 529" in json.dumps(Attempt.objects.get(turn_id=failed.id).error)
    assert "interrupted" in {note["code"] for note in Ingested.objects.get(turn_id=canceled.id).notes}
    assert canceled.model_stop_reason == "unknown"
    assert run(tmp_path) == ("1 file: 0 turns imported, 3 here already, 0 refused.", "")


def test_an_older_database_of_crush_names_no_provider(run: Run, tmp_path: Path) -> None:
    crush_database(tmp_path / "crush.db", older=True)
    assert run(tmp_path) == ("1 file: 3 turns imported, 0 here already, 0 refused.", "")
    assert set(Ingested.objects.values_list("provider", flat=True)) == {""}


@pytest.mark.parametrize("made", [goose_database, crush_database])
def test_a_view_instead_of_a_table_is_not_read(made: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    made(path)
    with closing(sqlite3.connect(path)) as database:
        database.executescript("ALTER TABLE messages RENAME TO kept; CREATE VIEW messages AS SELECT * FROM kept")
    assert list(read(path)) == [Fault(0, NO_TABLES)]


def test_a_database_is_opened_read_only(tmp_path: Path) -> None:
    crush_database(tmp_path / "crush.db")
    with opened(tmp_path / "crush.db") as database, pytest.raises(sqlite3.OperationalError, match="readonly"):
        _emptied(database)


def _emptied(database: BoundedDatabase) -> None:
    list(database.rows("DELETE FROM messages"))


def test_the_write_ahead_log_of_a_running_agent_counts_towards_the_size(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; {GOOSE_TABLES}")
        for number in range(5):
            content = json.dumps([{"type": "text", "text": str(number) * 5_000_000}])
            database.execute(
                "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?, ?, ?, ?)",
                ["one", "user", content, BEGAN + number],
            )
        database.commit()
        assert [found for found in read(path) if isinstance(found, Fault)] == []


def test_changes_made_by_an_agent_during_the_import_are_not_read(tmp_path: Path) -> None:
    """A quiet database is read without locks, so pages of two states could look like one, or like damage."""
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA journal_mode = WAL; {GOOSE_TABLES}")
        said = json.dumps([{"type": "text", "text": "a" * 3_000}])
        rows = [[str(n // 2), ("user", "assistant")[n % 2], said, BEGAN + n] for n in range(200)]
        database.executemany(
            "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?, ?, ?, ?)", rows
        )
        database.commit()
    found = []
    with closing(sqlite3.connect(path, isolation_level=None)) as agent:
        for one in read(path):
            if not found:
                agent.execute("DELETE FROM messages WHERE id % 2")
                agent.execute("VACUUM")
                agent.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            found.append(one)
    assert found[-1] == Fault(0, NOT_READ.format(why=CHANGED))
    assert len([one for one in found if isinstance(one, Fault)]) == 1
