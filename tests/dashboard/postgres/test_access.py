"""Only the user that started the server connects to it, as the kernel tells who asks."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from dashboard.postgres import access, running_postgres
from dashboard.postgres.places import Home
from dashboard.postgres.postmaster import find_postmaster

from .conftest import copy_cluster

STARTUP = struct.pack("!i", 196_608) + b"user\0whystop\0database\0whystop\0\0"
#: Says who it wants to be, and prints how it is answered: R, or E with the reason.
ASK = f"""
import os, socket
os.setuid({{uid}})
with socket.socket(socket.AF_UNIX) as client:
    client.settimeout(60)
    client.connect({{path!r}})
    client.sendall({struct.pack("!i", len(STARTUP) + 4) + STARTUP!r})
    print(client.recv(4000))
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as another user")


def silent(message: str) -> None:
    pass


def asked_as(uid: int, sockets: Path) -> str:
    program = ASK.format(uid=uid, path=str(sockets / ".s.PGSQL.5432"))
    return subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True).stdout


@as_root
@pytest.mark.parametrize("before", [False, True], ids=["a new cluster", "a cluster from before the rules"])
def test_a_process_of_the_user_that_runs_the_server_is_refused(folder: Path, home: Home, template: Path, before: bool):
    if before:
        copy_cluster(template, folder)
        (home.data / "pg_hba.conf").write_text("local all all trust\n")
    with running_postgres(folder, on_message=silent) as url:
        found = find_postmaster(home)
        assert found is not None
        assert "Peer authentication failed" in asked_as(home.account.uid, found.sockets)
        assert asked_as(0, found.sockets).startswith("b'R"), "the one that started it comes in"
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 42").fetchone() == (42,)


def test_a_user_without_a_name_gets_in_by_the_closed_folder_alone(
    folder: Path, home: Home, template: Path, monkeypatch: pytest.MonkeyPatch
):
    copy_cluster(template, folder)

    def nobody(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.setattr(access.pwd, "getpwuid", nobody)
    with running_postgres(folder, on_message=silent) as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT 42").fetchone() == (42,)


def test_the_rules_are_written_anew_and_never_through_a_link(folder: Path, home: Home, tmp_path: Path):
    other = tmp_path / "other"
    other.write_text("mine")
    (home.folder / "pg_hba.conf").symlink_to(other)
    settings = access.access_settings(home)
    assert other.read_text() == "mine"
    assert "peer map=starter" in Path(settings["hba_file"]).read_text()
    assert not Path(settings["hba_file"]).is_symlink()
