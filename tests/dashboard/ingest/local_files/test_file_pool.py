"""Many files are imported by several processes: the same turns, and nothing half stored when all are killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from dashboard.ingest.local_files import file_pool
from dashboard.ingest.local_files.file_report import LOST, FileReport
from dashboard.ingest.models import Ingested
from dashboard.ingest.turn_files.file_export import file_text, turn_file
from dashboard.platform.database import address_of
from dashboard.platform.environment import CHECKOUT
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.ingest.logs.samples import FILES
from tests.dashboard.ingest.logs.writing import chat_answer, chat_request, lines

STOPPED = import_module("dashboard.runtime.management.commands.import").STOPPED

pytestmark = pytest.mark.django_db(transaction=True)

#: `manage.py import` of a folder by two processes, however small its files are.
COMMAND = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
import django
django.setup()
from django.core.management import call_command
from dashboard.ingest.local_files import file_pool
file_pool.size_for = lambda paths: 2
if __name__ == "__main__":
    call_command("import", sys.argv[1])
"""

#: The same, with what `manage.py` says of errors. A shell has what it starts in the background ignore Ctrl-C; not here.
GUARDED = COMMAND.replace(
    'call_command("import", sys.argv[1])',
    """
    import signal
    from django.core.management import execute_from_command_line
    signal.signal(signal.SIGINT, signal.default_int_handler)
    execute_from_command_line(["manage.py", "import", sys.argv[1]])""",
)
#: The system kills the process that opens a file of this name.
KILLED = COMMAND.replace(
    "if __name__",
    """
from dashboard.ingest.local_files import files
whole = files.log_import
def log_import(found, *, name, **more):
    if name == "deadly.jsonl":
        os.kill(os.getpid(), 9)
    return whole(found, name=name, **more)
files.log_import = log_import
if __name__""",
)


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


def test_parallel_import_gives_the_same_result_as_the_single_process(
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


@pytest.mark.usefixtures("imports_here")
def test_turn_files_are_imported_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(FILES["claude"])
    imported(log)
    monkeypatch.setattr(file_pool, "size_for", lambda _: 2)
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


def test_many_small_files_use_a_process_for_each_core(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(file_pool.WORTH_FILES)]
    for path in paths:
        pairs(path, 1)
    cores = len(os.sched_getaffinity(0))
    assert [file_pool.size_for(paths[1:]), file_pool.size_for(paths)] == [1, cores]


def begun(folder: Path, script: str = COMMAND) -> subprocess.Popen[str]:
    """The command in a session of its own, once it has stored turns."""
    environment = {**os.environ, "DATABASE_URL": address_of(connection.get_connection_params())}
    (folder / "command.py").write_text(script)
    command = subprocess.Popen(
        [sys.executable, folder / "command.py", folder], cwd=CHECKOUT, env={**environment, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 120
    while not Turn.objects.exists():
        assert time.monotonic() < until
        assert command.poll() is None, command.communicate()
        time.sleep(0.05)
    return command


def children_of(command: subprocess.Popen[str]) -> list[str]:
    return Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()


def ended(children: list[str]) -> None:
    until = time.monotonic() + 30
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until
        time.sleep(0.05)


def whole_portions(folder: Path, files: int, turns: int) -> None:
    """Nothing is half stored, and the import goes on where it was ended."""
    stored = Turn.objects.count()
    assert Ingested.objects.count() == Attempt.objects.count() == stored
    assert imported(folder) == f"{files} files: {turns - stored:,} turns imported, {stored:,} here already, 0 refused."


@pytest.mark.nightly
def test_an_import_killed_with_its_processes_leaves_nothing_half_stored(by_two: None, tmp_path: Path) -> None:
    for number in range(6):
        pairs(tmp_path / f"p{number}.jsonl", 150)
    command = begun(tmp_path)
    children = children_of(command)
    command.send_signal(signal.SIGKILL)
    command.communicate()
    ended(children)
    whole_portions(tmp_path, 6, 900)


@pytest.mark.nightly
def test_ctrl_c_ends_an_import_by_several_processes_at_once(by_two: None, tmp_path: Path) -> None:
    for number in range(4):
        pairs(tmp_path / f"p{number}.jsonl", 6_000)
    command = begun(tmp_path, GUARDED)
    children, since = children_of(command), time.monotonic()
    os.killpg(command.pid, signal.SIGINT)  # as a terminal does
    _, said = command.communicate(timeout=60)
    took = time.monotonic() - since
    ended(children)
    assert (command.returncode, said) == (130, f"CommandError: {STOPPED}\n")
    assert took < 5, "some 0.3 s where nothing else runs"
    assert Turn.objects.count() < 24_000
    stored = Turn.objects.count()
    assert Ingested.objects.count() == Attempt.objects.count() == stored


def test_ctrl_c_ends_an_import_of_one_process_with_the_same_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    pairs(tmp_path / "a.jsonl", 1)
    monkeypatch.setattr(FileReport, "imported", stopped)
    with pytest.raises(CommandError, match=STOPPED) as ended_by:
        imported(tmp_path)
    assert ended_by.value.returncode == 130


def test_only_the_file_at_which_a_lone_process_ends_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With several processes it is not known which of their files ended one."""
    paths, sizes = [Path(name) for name in ("first", "deadly", "last")], list[int]()

    def by_pool(left: Sequence[Path], _asked: object, _address: str, size: int) -> Iterator[tuple[Path, str]]:
        sizes.append(size)
        for path in left:
            if path.name == "deadly":
                raise BrokenProcessPool
            yield path, f"{path} imported"

    monkeypatch.setattr(file_pool, "_by_pool", by_pool)
    told = file_pool.imported(paths, Mock(), address="", size=2, lost=lambda path: f"{path} lost")
    assert [*told] == ["first imported", "deadly lost", "last imported"]
    assert sizes == [2, 1, 1]


@pytest.mark.nightly  # by day the one above; here the system kills a process of an import by several
def test_a_file_that_crashes_its_process_is_named_and_the_others_are_imported(tmp_path: Path) -> None:
    pairs(tmp_path / "first.jsonl", 150)
    for number in range(4):
        pairs(tmp_path / f"p{number}.jsonl", 20)
    pairs(tmp_path / "deadly.jsonl", 20)
    os.utime(tmp_path / "first.jsonl", (2**31, 2**31))  # what changed last is imported first
    command = begun(tmp_path, KILLED)
    out, said = command.communicate(timeout=120)
    assert (command.returncode, said) == (0, f"{tmp_path}/deadly.jsonl: {LOST}\n")
    assert out.splitlines()[-1].startswith("6 files: ")
    assert out.splitlines()[-1].endswith(" 1 refused.")
    assert Turn.objects.count() == 230
    whole_portions(tmp_path, 6, 250)
