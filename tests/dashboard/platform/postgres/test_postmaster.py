"""Only the user that started the server, its folder's owner and root connect to it, as the kernel tells who asks."""

import os
import pwd
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import psycopg
import pytest

from dashboard.platform.postgres import postmaster, running_postgres, start
from dashboard.platform.postgres.paths import ClusterPaths
from dashboard.platform.postgres.postmaster import find_postmaster

from .conftest import Holder, copy_cluster

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


def no_rules(_home: ClusterPaths) -> Mapping[str, str]:
    return {}


def asked_as(uid: int, sockets: Path) -> str:
    program = ASK.format(uid=uid, path=str(sockets / ".s.PGSQL.5432"))
    return subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True).stdout


@as_root
@pytest.mark.parametrize("before", [False, True], ids=["a new cluster", "a cluster from before the rules"])
def test_other_processes_of_the_server_user_are_refused(folder: Path, home: ClusterPaths, template: Path, before: bool):
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


def test_a_server_started_before_the_access_rules_is_restarted(
    folder: Path, home: ClusterPaths, template: Path, monkeypatch: pytest.MonkeyPatch
):
    copy_cluster(template, folder)
    (home.data / "pg_hba.conf").write_text("local all all trust\n")
    with monkeypatch.context() as before:
        before.setattr(postmaster, "access_settings", no_rules)
        orphaned = start(folder, on_message=silent)
        os.close(orphaned._descriptor)  # as the kernel does when its process is killed
    first = find_postmaster(home)
    with running_postgres(folder, on_message=silent) as url, psycopg.connect(url) as connection:
        second = find_postmaster(home)
        assert first is not None
        assert second is not None
        assert first.pid != second.pid
        assert connection.execute("SHOW hba_file").fetchone() == (str(home.folder / "pg_hba.conf"),)


def test_another_of_our_processes_uses_the_running_server(
    folder: Path, home: ClusterPaths, template: Path, hold: Callable[[], Holder]
):
    copy_cluster(template, folder)
    hold().url()
    first = find_postmaster(home)
    with running_postgres(folder, on_message=silent):
        assert find_postmaster(home) == first


@as_root
def test_the_owner_of_the_folder_has_access_where_root_started_the_server(folder: Path, home: ClusterPaths):
    owner = pwd.getpwnam("nobody").pw_uid
    os.chown(home.folder, owner, -1)
    with running_postgres(folder, on_message=silent):
        found = find_postmaster(home)
        assert found is not None
        rules = (home.folder / "pg_ident.conf").read_text()
        assert 'whystop "root" all' in rules
        assert 'whystop "nobody" all' in rules
        sockets = found.sockets
        sockets.chmod(0o755)
        (sockets / ".s.PGSQL.5432").chmod(0o777)
        assert asked_as(owner, sockets).startswith("b'R")
        assert "Peer authentication failed" in asked_as(home.account.uid, sockets)


def test_ownership_of_a_folder_is_not_changed_through_a_link(tmp_path: Path, home: ClusterPaths):
    other = tmp_path / "other"
    other.mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(other)
    with pytest.raises(OSError, match="link"):
        home.account.own(tmp_path / "link")
    assert other.stat().st_mode & 0o777 == 0o755


def test_a_user_without_a_name_has_access_only_through_the_closed_folder(
    folder: Path, home: ClusterPaths, template: Path, monkeypatch: pytest.MonkeyPatch
):
    copy_cluster(template, folder)
    uid = home.account.uid
    os.chown(home.folder, uid, -1)
    monkeypatch.setattr(postmaster, "_name", lambda asked: None if asked == uid else pwd.getpwuid(asked).pw_name)
    with running_postgres(folder, on_message=silent) as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT 42").fetchone() == (42,)


def test_the_access_rules_are_rewritten_and_never_through_a_link(folder: Path, home: ClusterPaths, tmp_path: Path):
    other = tmp_path / "other"
    other.write_text("mine")
    (home.folder / "pg_hba.conf").symlink_to(other)
    settings = postmaster.access_settings(home)
    assert other.read_text() == "mine"
    assert "peer map=whystop" in Path(settings["hba_file"]).read_text()
    assert not Path(settings["hba_file"]).is_symlink()
