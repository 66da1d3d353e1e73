"""A backup taken under load is restored elsewhere, and every turn in it verifies there."""

import json
import re
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from pytest_django import DjangoDbBlocker

from dashboard.client import Whystop
from dashboard.platform.errors import StartError
from dashboard.runtime.operations import restore as restoring
from dashboard.runtime.operations.archive import DATABASE, MANIFEST, Archive, Writer
from dashboard.runtime.operations.restore import _put_files, check_target, restore
from dashboard.turns.seals.keys import AUDIT_HEAD_FILE, HEAD_FILE, KEY_FILE
from tests import forked_start
from tests.dashboard.runtime.conftest import PATIENCE, Up
from tests.nightly import nightly

TOKEN = "a-token-of-twenty-four-or-more"


def manage(environment: Mapping[str, str], *words: str) -> tuple[int, str]:
    """The exit code of a command of manage.py, and all that it said."""
    done = forked_start.run(words, env=environment, timeout=PATIENCE, **forked_start.BOTH)
    return done.returncode, done.stdout + done.stderr


@contextmanager
def load(whystop: Whystop, answered: list[str]) -> Iterator[None]:
    """Ten turns a second are started; their ids are noted once the server has answered."""
    over = threading.Event()

    def start() -> None:
        while not over.wait(0.1):
            answered.append(whystop.start("sim-essay", "under load", max_tokens=60).id)

    thread = threading.Thread(target=start)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def other(environment: Mapping[str, str], data_dir: Path, name: str) -> dict[str, str]:
    return {**environment, "WHYSTOP_DATA_DIR": str(data_dir.parent / name)}


def with_rows(backup: Path, to: Path, table: str, rows: int) -> Path:
    """The same backup, whose manifest says another number of rows."""
    with ZipFile(backup) as read, ZipFile(to, "w") as written:
        for name in read.namelist():
            told = read.read(name)
            if name == MANIFEST:
                manifest = json.loads(told)
                manifest["rows"][table] = rows
                told = json.dumps(manifest).encode()
            written.writestr(ZipInfo(name), told)
    return to


@pytest.mark.usefixtures("started_before")
@pytest.mark.parametrize("replaced", [False, nightly(True)])
def test_a_backup_taken_under_load_restores_elsewhere_and_every_turn_verifies(
    up: Callable[..., Up], environment: dict[str, str], data_dir: Path, replaced: bool
):
    file, elsewhere = data_dir.parent / "whystop.backup", other(environment, data_dir, "elsewhere")
    server = up(WHYSTOP_BOOTSTRAP_TOKEN=TOKEN, WHYSTOP_SIM_TOKEN_MS="1")
    whystop, answered = Whystop(server.address(), TOKEN), []
    before = [whystop.start("sim-essay", "before", max_tokens=60).id for _ in range(5)]
    with load(whystop, answered):
        code, said = manage(environment, "backup", str(file))
    assert (code, said.startswith("Backed up ")) == (0, True), said
    assert answered, "nothing went on beside the backup"
    assert file.stat().st_mode & 0o077 == 0
    assert server.stop()[0] == 0

    code, said = manage(elsewhere, "restore", str(file))
    assert code == 0, said
    turns = int(re.search(r"Restored (\d+) turns", said)[1])
    assert turns >= len(before)
    assert (data_dir.parent / "elsewhere" / KEY_FILE).read_text() == (data_dir / KEY_FILE).read_text()
    # A restore that fails, here because rows are missing, leaves all that is there.
    miscounted = with_rows(file, data_dir.parent / "miscounted", "turns_turn", 10**6)
    code, said = manage(elsewhere, "restore", str(miscounted), "--replace")
    assert (code, "nothing has changed: " in said) == (1, True), said
    code, said = manage(elsewhere, "verify", "--all")
    assert (code, f"{turns} turns" in said, "Verified: nothing was changed." in said) == (0, True, True), said
    if replaced:
        code, said = manage(elsewhere, "restore", str(file), "--replace")
        assert (code, f"Restored {turns} turns" in said) == (0, True), said


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """The file of a backup that holds no tables."""
    path = tmp_path / "small.backup"
    with Writer(path) as writer:
        with writer.member(DATABASE) as member:
            member.write(b"nothing")
        known = {"made_at": "2026-11-26", "core_version": "5", "server_version": "18.4", "signing_key": ""}
        writer.finish(**known, migrations=["turns.0001_initial"], rows={"turns_turn": 0}, variables=[])
    return path


def test_a_complete_file_matches_the_checksums_of_its_manifest(backup: Path):
    Archive(backup).verify()


def test_a_changed_byte_is_detected_before_anything_is_restored(backup: Path):
    backup.write_bytes(backup.read_bytes().replace(b"nothing", b"notHing"))
    with pytest.raises(StartError, match=r"database\.sql\.zst differs from its checksum"):
        restore(backup)


def test_an_oversized_manifest_is_not_decompressed(backup: Path):
    bomb = backup.with_name("bomb")
    with ZipFile(bomb, "w", ZIP_DEFLATED) as file:
        file.writestr("manifest.json", b" " * 50_000_000)
    tracemalloc.start()
    with pytest.raises(StartError, match="is not a backup of Whystop"):
        Archive(bomb)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_truncated_file_is_not_accepted_as_a_backup(backup: Path):
    backup.write_bytes(backup.read_bytes()[:-30])
    with pytest.raises(StartError, match="is not a Whystop backup, or is incomplete"):
        Archive(backup)


def test_a_backup_overwrites_no_file(backup: Path):
    before = backup.read_bytes()
    with pytest.raises(StartError, match="exists already"), Writer(backup):
        pass
    assert backup.read_bytes() == before


def test_a_failed_backup_leaves_no_file(tmp_path: Path):
    with pytest.raises(ValueError, match="stopped"), Writer(tmp_path / "x"):
        raise ValueError("stopped")
    assert list(tmp_path.iterdir()) == []


def test_a_backup_of_a_newer_version_is_refused_with_the_missing_migration(backup: Path, tmp_path: Path):
    newer = tmp_path / "newer"
    with ZipFile(backup) as read, ZipFile(newer, "w") as written:
        for name in read.namelist():
            written.writestr(ZipInfo(name), read.read(name).replace(b"turns.0001_", b"turns.9001_"))
    with pytest.raises(StartError, match=r"made by a newer Whystop, which has turns\.9001_initial"):
        restore(newer)


@pytest.mark.django_db
def test_a_database_with_tables_is_replaced_only_on_request():
    parameters = connection.get_connection_params()
    del parameters["cursor_factory"]
    with pytest.raises(StartError, match=r"holds \d+ tables already.*--replace"):
        check_target(parameters, "public", replace=False)


@pytest.fixture
def parameters(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> dict[str, object]:
    """Of a connection to the tests' database, to which nothing else is connected."""
    with django_db_blocker.unblock():
        found = connection.get_connection_params()
        connection.close()
        connection.close_pool()
    del found["cursor_factory"]
    return found


def test_a_database_in_use_is_not_replaced(parameters: dict[str, object], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(restoring, "_LEAVING", 0.1)
    with psycopg.connect(**parameters), pytest.raises(StartError, match="stop every process of Whystop first"):
        check_target(parameters, "public", replace=True)


def test_a_restore_waits_for_a_client_that_is_just_leaving(
    parameters: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    leaving = psycopg.connect(**parameters)
    monkeypatch.setattr(restoring.time, "sleep", lambda seconds: leaving.close())
    assert check_target(parameters, "public", replace=True) >= 14
    assert leaving.closed


def test_a_backup_without_seals_leaves_no_memory_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, data_dir=tmp_path))
    for name in (HEAD_FILE, AUDIT_HEAD_FILE):
        (tmp_path / name).write_text("7 digest\n")
    _put_files({HEAD_FILE: "3 other\n"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {HEAD_FILE: "3 other\n"}
