"""A real streaming replica of the run's own database."""

import os
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import psycopg
from django.db import connection

from dashboard.platform.postgres import Share
from dashboard.platform.postgres.binaries import binaries_for
from tests.hosts.own_user import let_in

PATIENCE = 60.0  #: seconds


#: Which a replica may not have lower, or it does not open.
_LIMITS = ("max_connections", "max_worker_processes", "max_wal_senders", "max_locks_per_transaction")


class StreamingReplica:
    """Made from a base backup; it follows the primary until it is stopped."""

    def __init__(self, share: Share, folder: Path) -> None:
        self._share, self._account, self._sockets = share, share.home.account, folder / "sockets"
        self._data = folder / "data"
        self._binaries = binaries_for(self._account, system_folder=share.system_folder)
        for each in (folder, self._sockets):
            each.mkdir()
            self._account.own(each)
        self._server: subprocess.Popen[bytes] | None = None
        self._copy()

    @property
    def url(self) -> str:
        return f"postgresql://whystop@{quote(str(self._sockets), safe='')}:5432/whystop"

    def _copy(self) -> None:
        home = self._share.home
        with (home.folder / "pg_hba.conf").open("a") as rules:
            rules.write("local replication all peer map=whystop\n")
        let_in(home)
        primary = unquote(urlsplit(self._share.url).netloc.rpartition("@")[2].rpartition(":")[0])
        source = f"host={primary} port=5432 user=whystop dbname=whystop"
        program = self._binaries.root / "bin" / "pg_basebackup"
        code, said = self._account.run([program, "-D", self._data, "-R", "-X", "stream", "-c", "fast", "-d", source])
        assert code == 0, said

    def start(self) -> None:
        rules = self._share.home.folder
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._sockets),
            "hba_file": str(rules / "pg_hba.conf"),
            "ident_file": str(rules / "pg_ident.conf"),
            **_limits_of_the_primary(),
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [self._binaries.postgres, "-D", self._data, *options]
        self._server = self._account.popen(command, output=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, "the replica does not answer"
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True

    def pause(self) -> None:
        """It receives what is written, and shows none of it."""
        self._run("SELECT pg_wal_replay_pause()")

    def resume(self) -> None:
        self._run("SELECT pg_wal_replay_resume()")

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as made:
            made.execute(statement)

    def stop(self) -> None:
        if self._server is not None:
            os.kill(self._server.pid, signal.SIGQUIT)
            self._server.wait()
            self._server = None


def _limits_of_the_primary() -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(_LIMITS)])
        return dict(cursor.fetchall())
