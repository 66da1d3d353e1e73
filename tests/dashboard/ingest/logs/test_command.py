"""`manage.py import`: files and folders by name, with a line for each, and for each record that was refused."""

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import CommandError, call_command

from dashboard.ingest.local_files import file_report
from dashboard.ingest.logs.session_databases import NO_MESSAGE, NO_TABLES, TOO_MUCH, read
from dashboard.ingest.logs.values import Fault
from dashboard.ingest.turn_files.file_export import file_text, turn_file
from dashboard.platform.environment import CHECKOUT
from dashboard.turns.models import Turn
from tests.dashboard.ingest.logs.samples import FILES
from tests.dashboard.ingest.logs.test_transcripts import OPENCODE
from tests.dashboard.ingest.logs.writing import chat_answer, chat_request, lines

Run = Callable[..., tuple[str, str]]
PAIR = {"request": chat_request(), "response": chat_answer()}


@pytest.fixture
def run(transactional_db: None) -> Run:
    def run(*paths: Path, **options: Any) -> tuple[str, str]:
        out, err = StringIO(), StringIO()
        call_command("import", *paths, stdout=out, stderr=err, **options)
        return out.getvalue(), err.getvalue()

    return run


def test_a_folder_is_imported_file_by_file_and_refusals_name_their_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(FILES["claude"])
    (tmp_path / "a.har").write_bytes(FILES["archive"])
    (tmp_path / "c.jsonl").write_bytes(b"nonsense\n" + lines(PAIR))
    (tmp_path / "notes.txt").write_text("not a log")
    for age, name in enumerate(("a.har", "b.jsonl", "c.jsonl")):
        os.utime(tmp_path / name, (2_000_000_000 - age,) * 2)
    out, err = run(tmp_path)
    assert err == f"{tmp_path}/c.jsonl:1: It is not JSON: expected ident at line 1 column 2.\n"
    assert out.splitlines() == [
        f"{tmp_path}/a.har: 2 turns imported, 0 here already, 0 refused",
        f"{tmp_path}/b.jsonl: 2 turns imported, 0 here already, 0 refused",
        f"{tmp_path}/c.jsonl: 1 turn imported, 0 here already, 1 refused",
        "3 files: 5 turns imported, 0 here already, 1 refused.",
    ]
    again, _ = run(tmp_path)
    assert again.splitlines()[-1] == "3 files: 0 turns imported, 5 here already, 1 refused."
    assert Turn.objects.count() == 5


def test_a_dry_run_lists_what_would_be_imported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(lines(PAIR))
    out, _ = run(tmp_path, dry_run=True)
    assert out.splitlines()[-1] == "1 file: 1 turn would be imported, 0 here already, 0 refused."
    assert not Turn.objects.exists()


def test_without_a_path_the_transcripts_in_the_home_folder_are_imported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    with pytest.raises(CommandError, match="Give a file or a folder"):
        run()
    folder = tmp_path / ".claude/projects/-p"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_bytes(FILES["claude"])
    out, _ = run()
    assert out.splitlines()[-1] == "1 file: 2 turns imported, 0 here already, 0 refused."


def test_the_most_recently_changed_file_is_imported_first(run: Run, tmp_path: Path) -> None:
    for age, name in enumerate(("b.jsonl", "c.jsonl", "a.jsonl")):
        (tmp_path / name).write_bytes(FILES["claude"])
        os.utime(tmp_path / name, (2_000_000_000 - age,) * 2)
    out, _ = run(tmp_path)
    assert [line.partition(":")[0][-7:] for line in out.splitlines()[:-1]] == ["b.jsonl", "c.jsonl", "a.jsonl"]


def test_the_most_recently_changed_file_is_imported_first_across_agents(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else who asks why Codex stopped waits for all that Claude Code ever wrote."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    ages = {".claude/projects/-p/old.jsonl": 9, ".codex/sessions/2025/new.jsonl": 1, ".claude/projects/-p/mid.jsonl": 5}
    for name, age in ages.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(FILES["codex" if "codex" in name else "claude"])
        os.utime(tmp_path / name, (2_000_000_000 - age,) * 2)
    out, _ = run()
    assert [line.partition(":")[0][-9:] for line in out.splitlines()[:-1]] == ["new.jsonl", "mid.jsonl", "old.jsonl"]


def opencode_database(path: Path, *, data: str | None = None) -> None:
    """What `opencode export` writes, as OpenCode's own database holds it. `data`: of one more message."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created int, data text)")
        database.execute("CREATE TABLE part (id text PRIMARY KEY, message_id text, data text)")
        for place, told in enumerate(OPENCODE["messages"]):
            message_id = told["info"]["id"]
            kept = {name: value for name, value in told["info"].items() if name not in {"id", "sessionID"}}
            database.execute("INSERT INTO message VALUES (?, 's', ?, ?)", [message_id, place, json.dumps(kept)])
            for number, part in enumerate(told["parts"]):
                part_id = f"{message_id}-{number:03d}"
                database.execute("INSERT INTO part VALUES (?, ?, ?)", [part_id, message_id, json.dumps(part)])
        if data is not None:
            database.execute("INSERT INTO message VALUES ('more', 't', 1, ?)", [data])
        database.commit()


def test_opencodes_database_in_the_home_folder_is_imported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    (folder / "auth.json").write_text('{"a": "secret"}')
    opencode_database(folder / "opencode.db")
    out, err = run()
    assert (out.splitlines()[-1], err) == ("1 file: 1 turn imported, 0 here already, 0 refused.", "")
    turn = Turn.objects.get()
    assert (turn.input_text, turn.model_stop_reason, turn.attempts) == ("How many files?", "max_tokens", 2)
    assert run()[0].splitlines()[-1] == "1 file: 0 turns imported, 1 here already, 0 refused."


@pytest.mark.parametrize("data", ["no JSON", "[]", '{"role": NaN}', "1"])
def test_a_damaged_message_of_a_database_is_refused_and_the_others_are_imported(
    run: Run, tmp_path: Path, data: str
) -> None:
    opencode_database(tmp_path / "opencode.db", data=data)
    out, err = run(tmp_path)
    assert out.splitlines()[-1] == "1 file: 1 turn imported, 0 here already, 1 refused."
    assert err == f"{tmp_path}/opencode.db:3: {NO_MESSAGE}\n"


def test_a_foreign_or_damaged_database_is_reported(run: Run, tmp_path: Path) -> None:
    other, damaged = tmp_path / "other.db", tmp_path / "damaged.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE VIEW message AS SELECT 1")
        database.commit()
    opencode_database(damaged)
    damaged.write_bytes(damaged.read_bytes()[:4096] + b"x" * 9000)
    with pytest.raises(SystemExit):
        run(other)
    with pytest.raises(SystemExit):
        run(damaged)


MESSAGE = "id text, session_id text, time_created int, data text"
PART = "CREATE TABLE part (id text, message_id text, data text)"
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {most}) "
#: Databases whose reading would take hours or gigabytes, by the statements that make them and what is said of them.
HOSTILE = {
    "a column that is computed": (
        f"CREATE TABLE message (id, session_id, time_created, data AS (hex(zeroblob(400000000)))); {PART};"
        "INSERT INTO message VALUES ('m', 's', 1)",
        NO_TABLES,
    ),
    "a virtual table": (
        f"CREATE VIRTUAL TABLE message USING fts5(id, session_id, time_created, data); {PART};",
        NO_TABLES,
    ),
    "a text that seems to be short": (
        f"CREATE TABLE message ({MESSAGE}); {PART}; INSERT INTO message VALUES ('m', 's', 1, '{{}}');"
        "INSERT INTO part VALUES ('p', 'm', char(0) || hex(zeroblob(10000000)))",
        "The message is longer than 16 MiB.",
    ),
    "a session's name of 20 MB": (
        f"CREATE TABLE message ({MESSAGE}); {PART};"
        "INSERT INTO message VALUES ('m', hex(zeroblob(10000000)), 1, '{}')",
        "string or blob too big",
    ),
    "many messages that share one large part": (
        f"CREATE TABLE message ({MESSAGE}); {PART};"
        + NUMBERS.format(most=100_000) + "INSERT INTO message SELECT 'm', 's', i, '{}' FROM n;"
        "INSERT INTO part VALUES ('p', 'm', '\"' || hex(zeroblob(1000000)) || '\"')",
        TOO_MUCH,
    ),
    "no index": (
        f"CREATE TABLE message ({MESSAGE}); {PART};"
        + NUMBERS.format(most=50_000) + "INSERT INTO message SELECT i, 's', i, '{}' FROM n;"
        + NUMBERS.format(most=50_000) + "INSERT INTO part SELECT i, i, '{}' FROM n",
        TOO_MUCH,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_database_with_an_endless_query_is_refused_soon(kind: str, tmp_path: Path) -> None:
    made, words = HOSTILE[kind]
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as database:
        database.executescript(made)
    begun = time.process_time()
    faults = [one.words for one in read(tmp_path / "opencode.db") if isinstance(one, Fault)]
    assert words in faults[-1]
    assert time.process_time() - begun < 20


@pytest.mark.parametrize("seed", range(3))
def test_a_database_damaged_anywhere_is_reported_and_raises_nothing(seed: int, tmp_path: Path) -> None:
    """Its own library raises no error of its own for a damaged name, but one of decoding."""
    path, chance = tmp_path / "opencode.db", random.Random(seed)
    opencode_database(path)
    whole = path.read_bytes()
    names = [found.start() for found in re.finditer(rb"message|part", whole)]
    for place in (*names, *(chance.randrange(16, len(whole)) for _ in range(200))):
        damaged = bytearray(whole)
        damaged[place] = chance.choice((0xFF, 0, chance.randrange(256)))
        path.write_bytes(damaged)
        list(read(path))


def test_a_rollout_compressed_after_a_week_is_imported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rollout-1.jsonl.zst").write_bytes(zstandard.compress(FILES["codex"]))
    (tmp_path / "rollout-2.jsonl").write_bytes(FILES["codex"])
    out, _ = run(tmp_path)
    turns = Turn.objects.count()
    assert turns > 0
    assert out.splitlines()[-1] == f"2 files: {turns} turns imported, {turns} here already, 0 refused."


@pytest.mark.usefixtures("imports_here")
def test_a_turn_file_is_imported_by_the_same_command(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(FILES["claude"])
    run(path)
    turn = tmp_path / "turn.json"
    turn.write_text(file_text(turn_file(Turn.objects.order_by("id").first())))
    out, err = run(turn)
    assert (out.splitlines()[-1], err) == ("1 file: 0 turns imported, 1 here already, 0 refused.", "")


def test_a_missing_file_is_reported(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        run(tmp_path / "none.jsonl")


def test_every_refused_line_is_reported(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(PAIR) + b"nonsense\n" * 150)
    out, err = run(path)
    assert [line.split(": ")[0] for line in err.splitlines()] == [f"{path}:{number}" for number in range(2, 152)]
    assert out.splitlines()[-1] == "1 file: 1 turn imported, 0 here already, 150 refused."


def test_progress_shows_how_many_turns_already_existed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(PAIR, *({**PAIR, "id": str(n), "said": "x" * 2**15} for n in range(130))))
    run(path)
    monkeypatch.setattr(file_report, "EVERY_SECONDS", 0)
    out, _ = run(path)
    assert f"{path}: 100 %, 0 turns imported, 128 here already" in out.splitlines()


def big(path: Path, megabytes: int) -> int:
    """A log of so many megabytes, a sixth of it lines that are too odd to be taken; how many turns are in it."""
    answer = chat_answer("word " * 4000)
    count = 0
    with path.open("wb") as file:
        while file.tell() < megabytes * 2**20:
            count += 1
            file.write(lines({"id": str(count), "request": chat_request(), "response": answer}))
            if count % 6 == 0:
                file.write(b"{" + b"x" * 20_000 + b"\n")
    return count


PEAK = """
import os, resource, sys
from pathlib import Path
os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
import django
django.setup()
from dashboard.ingest.logs.format_detection import read
def peak(path):
    path = Path(path)
    with path.open("rb") as file:
        found = sum(1 for _ in read(file, size=path.stat().st_size, file_time=10**18, told=lambda _: None))
    return found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
small, large = peak(sys.argv[1]), peak(sys.argv[2])
print(small[0], large[0], large[1] - small[1])
"""


def test_a_large_file_is_read_in_the_memory_of_a_small_one(tmp_path: Path) -> None:
    counts = [big(tmp_path / "small.jsonl", 3), big(tmp_path / "large.jsonl", 30)]
    command = [sys.executable, "-c", PEAK, str(tmp_path / "small.jsonl"), str(tmp_path / "large.jsonl")]
    told = subprocess.run(command, cwd=CHECKOUT, capture_output=True, check=True, text=True, env={**os.environ}).stdout
    small, large, more = map(int, told.split())
    assert [small, large] == [count + count // 6 for count in counts]
    assert more < 4 * 1024  # KiB; ten times as much to read
