"""Backups that somebody made in order to harm: nothing of them runs on this machine, and each is refused in words."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import psycopg
import pytest
import zstandard
from django.db import connection

from dashboard.platform.errors import StartError
from dashboard.runtime.operations import restore
from dashboard.runtime.operations.archive import DATABASE, MANIFEST, Archive, Writer
from dashboard.turns.seals.keys import KEY_FILE

pytestmark = pytest.mark.django_db(transaction=True)
KNOWN = {
    "made_at": "2026-11-27", "core_version": "13", "server_version": "18", "signing_key": "x", "migrations": [],
    "rows": {}, "variables": [],
}  # fmt: skip
#: As pg_dump writes it.
WHOLE = (
    b"--\n\n\\restrict abc\n\nCREATE TABLE public.one (n text);\nCOPY public.one FROM stdin;\n"
    b"\\\\unrestrict abc\n\\N\n\\.\n\n--\n\n%s\\unrestrict abc\n\n"
)


def backup_of(path: Path, dump: bytes, **known: Any) -> Archive:
    with Writer(path) as writer:
        with writer.member(DATABASE) as member:
            member.write(zstandard.compress(dump))
        writer.finish(**{**KNOWN, **known})
    return Archive(path)


@pytest.fixture
def target() -> Iterator[dict[str, Any]]:
    """The parameters of an empty database."""
    parameters = connection.get_connection_params()
    del parameters["cursor_factory"]
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE restored_from_hostile")
    yield {**parameters, "dbname": "restored_from_hostile"}
    with connection.cursor() as cursor:
        cursor.execute("DROP DATABASE restored_from_hostile WITH (FORCE)")


def load(archive: Archive, target: dict[str, Any]) -> None:
    restore._load(archive, target, "public", connection.connection.info.server_version // 10000)


@pytest.mark.parametrize(
    "command",
    [
        "\\! touch {made}",
        "SELECT 1 \\g {made}",
        "\\o {made}",
        "\\unrestrict abc\n\\! touch {made}",
        "\\copy (SELECT 1) TO {made}",
    ],
)
def test_a_hostile_dump_runs_no_program_and_writes_no_file(command: str, target: dict[str, Any], tmp_path: Path):
    made = tmp_path / "made"
    archive = backup_of(tmp_path / "b", b"SELECT 1;\n" * 2_000 + command.format(made=made).encode() + b"\n" * 500)
    with pytest.raises(StartError, match="was not restored, and nothing has changed"):
        load(archive, target)
    assert not made.exists()


@pytest.mark.parametrize("before", [b"", b"-- x\n" * 5_000])
def test_a_dump_written_by_pg_dump_is_restored(before: bytes, target: dict[str, Any], tmp_path: Path):
    load(backup_of(tmp_path / "b", WHOLE % before, rows={"one": 2}), target)
    with psycopg.connect(**target) as asked:
        assert asked.execute("SELECT n FROM one").fetchall() == [("\\unrestrict abc",), (None,)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": {"one": "1"}},
        {"rows": {"one": -1}},
        {"rows": [1]},
        {"rows": {"one'; DROP TABLE x; --": 1}},
        {"migrations": [1]},
        {"migrations": "turns.0001_initial"},
        {"signing_key": 7},
        {"sha256": []},
        {"sha256": {DATABASE: 5}},
        {"made_at": {}},
        {"more": 1},
    ],
)
def test_a_manifest_with_other_types_is_not_a_backup(wrong: dict[str, Any], tmp_path: Path):
    path = tmp_path / "b"
    manifest = {**KNOWN, "sha256": {DATABASE: "x"}, "format": "whystop-backup.1", **wrong}
    with ZipFile(path, "w") as file:
        file.writestr(MANIFEST, json.dumps(manifest))
    with pytest.raises(StartError, match="is not a Whystop backup, or is incomplete"):
        Archive(path)


def test_unexpected_members_are_refused_and_not_written(tmp_path: Path):
    archive = backup_of(tmp_path / "b", b"")
    with ZipFile(tmp_path / "b", "a") as file:
        file.writestr("../../outside", "x")
    with pytest.raises(StartError, match="its members are not those of its manifest"):
        Archive(tmp_path / "b").verify()
    assert not set(archive.files()) - {KEY_FILE}


def test_an_oversized_key_is_not_decompressed(tmp_path: Path):
    with ZipFile(tmp_path / "b", "w", ZIP_DEFLATED) as file:
        file.writestr(KEY_FILE, b" " * 50_000_000)
        file.writestr(MANIFEST, json.dumps({**KNOWN, "sha256": {KEY_FILE: "x"}, "format": "whystop-backup.1"}))
    with pytest.raises(StartError, match="is not a backup of Whystop"):
        Archive(tmp_path / "b").files()
