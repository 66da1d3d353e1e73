"""Many files are imported by several processes: the same turns, and nothing half stored when all are killed."""

import os
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from dashboard.ingest.logs import file_pool
from dashboard.ingest.models import Ingested
from dashboard.ingest.turn_files.file_export import file_text, turn_file
from dashboard.platform.database import address_of
from dashboard.platform.environment import CHECKOUT
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.ingest.logs.samples import FILES
from tests.dashboard.ingest.logs.writing import chat_answer, chat_request, lines

pytestmark = pytest.mark.django_db(transaction=True)

#: `manage.py import` of a folder by two processes, however small its files are.
COMMAND = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
import django
django.setup()
from django.core.management import call_command
from dashboard.ingest.logs import file_pool
file_pool.size_for = lambda paths: 2
if __name__ == "__main__":
    call_command("import", sys.argv[1])
"""


def imported(folder: Path) -> str:
    out = StringIO()
    call_command("import", folder, stdout=out, stderr=StringIO())
    return out.getvalue().splitlines()[-1]


@pytest.fixture
def by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_pool, "size_for", lambda _: 2)


def pairs(path: Path, count: int) -> None:
    answer = chat_answer("word " * 400)
    path.write_bytes(
        lines(*({"id": f"{path.name} {n}", "request": chat_request(), "response": answer} for n in range(count)))
    )


def test_files_of_processes_come_to_what_the_command_alone_makes_of_them(
    by_two: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        pairs(tmp_path / f"p{number}.jsonl", 3)
    (tmp_path / "broken.jsonl").write_bytes(b"nonsense\n" + FILES["claude"])
    assert imported(tmp_path) == "6 files: 17 turns imported, 0 here already, 1 refused."
    told = capfd.readouterr()
    assert f"{tmp_path}/broken.jsonl:1: It is not JSON" in told.err
    assert f"{tmp_path}/p3.jsonl: 3 turns imported, 0 here already, 0 refused" in told.out
    monkeypatch.undo()
    assert imported(tmp_path) == "6 files: 0 turns imported, 17 here already, 1 refused."


def test_turn_files_among_them_are_imported_one_at_a_time(by_two: None, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(FILES["claude"])
    imported(log)
    for number, turn in enumerate(Turn.objects.all()):
        (tmp_path / f"{number}.json").write_text(file_text(turn_file(turn)))
    assert imported(tmp_path) == "3 files: 0 turns imported, 4 here already, 0 refused."


def test_small_files_are_imported_without_processes(tmp_path: Path) -> None:
    pairs(tmp_path / "a.jsonl", 1)
    pairs(tmp_path / "b.jsonl", 1)
    assert file_pool.size_for([tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "none.jsonl"]) == 1
    (tmp_path / "a.jsonl").write_bytes(b"x" * file_pool.WORTH)
    assert file_pool.size_for([tmp_path / "a.jsonl"]) == 1
    assert file_pool.size_for([*tmp_path.iterdir()]) == min(2, len(os.sched_getaffinity(0)))


def test_killed_with_its_processes_an_import_leaves_nothing_half_stored(by_two: None, tmp_path: Path) -> None:
    for number in range(6):
        pairs(tmp_path / f"p{number}.jsonl", 150)
    environment = {**os.environ, "DATABASE_URL": address_of(connection.get_connection_params())}
    script = tmp_path / "command.py"
    script.write_text(COMMAND)
    command = subprocess.Popen(
        [sys.executable, script, tmp_path], cwd=CHECKOUT, env={**environment, "PYTHONPATH": str(CHECKOUT)}
    )
    until = time.monotonic() + 120
    while not Turn.objects.exists():
        assert time.monotonic() < until
        assert command.poll() is None
        time.sleep(0.05)
    children = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
    command.send_signal(signal.SIGKILL)
    command.wait()
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until
        time.sleep(0.05)
    stored = Turn.objects.count()
    assert Ingested.objects.count() == Attempt.objects.count() == stored
    assert imported(tmp_path) == f"6 files: {900 - stored:,} turns imported, {stored:,} here already, 0 refused."
