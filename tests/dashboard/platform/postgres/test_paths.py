"""Folders that make it hard: closed, long, odd, half made, or another version's."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from dashboard.platform.postgres import PostgresError, running_postgres
from dashboard.platform.postgres.binaries import binaries_for, find_binaries
from dashboard.platform.postgres.os_account import account_for
from dashboard.platform.postgres.paths import ClusterPaths

from .conftest import Holder

IS_ROOT = os.geteuid() == 0


def silent(message: str) -> None:
    pass


def answers(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def test_behind_a_closed_folder_root_keeps_the_cluster_in_the_system_folder_and_says_so(folder: Path):
    closed, system = folder.parent / "closed", folder.parent / "system"
    closed.mkdir(mode=0o700)
    said: list[str] = []
    with running_postgres(closed / "store", on_message=said.append, system_folder=system) as url:
        assert answers(url)
    moved = list(system.glob("*/data"))
    assert (len(moved), len(said)) == ((1, 1) if IS_ROOT else (0, 0))
    assert all(str(system) in sentence and str(closed) in sentence for sentence in said)
    assert closed.stat().st_mode & 0o777 == 0o700


@pytest.mark.nightly
def test_behind_a_closed_folder_the_second_start_finds_the_same_data(folder: Path):
    closed, system = folder.parent / "closed", folder.parent / "system"
    closed.mkdir(mode=0o700)
    with running_postgres(closed, on_message=silent, system_folder=system) as url, psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept ()")
    with running_postgres(closed, on_message=silent, system_folder=system) as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_programs_behind_a_closed_folder_are_copied_once(folder: Path, monkeypatch: pytest.MonkeyPatch):
    account = account_for(folder)
    package = folder.parent / "closed" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "pginstall18").symlink_to(find_binaries().root)
    package.parent.chmod(0o700)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: Spec(str(package / "__init__.py")))
    system = folder.parent / "system"
    first = binaries_for(account, system_folder=system)
    assert account.run([first.postgres, "--version"])[1].startswith("postgres (PostgreSQL) 18")
    assert first.root.is_relative_to(system) == IS_ROOT
    assert binaries_for(account, system_folder=system) == first


class Spec:
    def __init__(self, origin: str) -> None:
        self.origin = origin


ODD_NAMES = ("with space", "with,comma", "with'quote", 'with"quote', "$HOME`id`", "ünï", "%41%")
#: To make a cluster takes two seconds of a processor: all that is odd stands in one name, and each alone every night.
ALL_THAT_IS_ODD = pytest.param(" ".join(ODD_NAMES), id="all of it")


@pytest.mark.parametrize(
    "name", [ALL_THAT_IS_ODD, *(pytest.param(name, marks=pytest.mark.nightly) for name in ODD_NAMES)]
)
def test_a_folder_with_an_unusual_name_works(folder: Path, name: str):
    with running_postgres(folder / name, on_message=silent) as url:
        assert answers(url)


@pytest.mark.nightly
def test_a_path_too_long_for_a_socket_uses_a_short_folder(folder: Path):
    deep = folder / ("a" * 60) / ("b" * 60)
    for _ in range(2):
        with running_postgres(deep, on_message=silent) as url:
            assert "whystop-" in url
            assert "bbb" not in url
            assert answers(url)


@pytest.mark.nightly
def test_a_symbolic_link_leads_to_the_same_cluster(folder: Path):
    link = folder.parent / "link"
    link.symlink_to(folder)
    with running_postgres(folder, on_message=silent) as one, running_postgres(link, on_message=silent) as other:
        assert one == other


@pytest.mark.nightly
def test_a_killed_initdb_is_repeated(folder: Path, home: ClusterPaths, hold: Callable[[], Holder]):
    for _ in range(3):
        killed = hold()
        wait_for_a_half_cluster(home)
        killed.kill()
    with running_postgres(folder, on_message=silent) as url:
        assert answers(url)


def wait_for_a_half_cluster(home: ClusterPaths) -> None:
    known = set(home.folder.glob("unfinished-*"))
    deadline = time.monotonic() + 60
    while not any(any(path.iterdir()) for path in set(home.folder.glob("unfinished-*")) - known):
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.nightly
def test_a_cluster_of_another_version_is_not_touched(folder: Path, home: ClusterPaths):
    with running_postgres(folder, on_message=silent):
        pass
    (home.data / "PG_VERSION").write_text("16\n")
    with pytest.raises(PostgresError, match=r"made by PostgreSQL 16 .* DATABASE_URL\.$"):
        running_postgres(folder, on_message=silent).__enter__()


def test_a_data_folder_that_is_a_file_is_refused(folder: Path):
    folder.write_text("something else")
    with pytest.raises(PostgresError, match="is a file, not a folder"):
        running_postgres(folder, on_message=silent).__enter__()


def test_a_read_only_folder_is_refused():
    with pytest.raises(PostgresError, match=r"^The data folder /sys/whystop is .* WHYSTOP_DATA_DIR\.$"):
        running_postgres(Path("/sys/whystop"), on_message=silent).__enter__()


@pytest.mark.nightly
def test_a_cluster_that_cannot_start_reports_the_reason_and_its_log(folder: Path, home: ClusterPaths):
    with running_postgres(folder, on_message=silent):
        pass
    (home.data / "global" / "pg_control").unlink()
    with pytest.raises(PostgresError, match=r"^PostgreSQL could not serve .*pg_control.*its log is .*log\.$"):
        running_postgres(folder, on_message=silent).__enter__()
