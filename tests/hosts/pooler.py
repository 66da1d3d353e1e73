"""A real PgBouncer in front of the run's own database."""

import shutil
import signal
import socket
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from dashboard.platform.postgres import Share
from tests.hosts.own_user import let_in
from tests.listening import await_port

USER, PASSWORD, DATABASE = "whystop", "only-for-this-test", "whystop"
_SETTINGS = """\
[databases]
{database} = host={sockets} port=5432 user={user}
[pgbouncer]
listen_addr = {address}
listen_port = {port}
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = {mode}
max_client_conn = 400
default_pool_size = 90
unix_socket_dir =
pidfile = {folder}/pid
"""


class PgBouncer:
    """`mode`: session or transaction. It runs as the user of the database, who must be let in at each start of that."""

    def __init__(self, share: Share, folder: Path, *, address: str, mode: str = "session") -> None:
        if shutil.which("pgbouncer") is None:
            pytest.skip("PgBouncer is not installed.")
        self._home, self._account, self._folder, self._address = share.home, share.home.account, folder, address
        with socket.create_server((address, 0)) as free:
            self._port = free.getsockname()[1]
        folder.mkdir()
        sockets = unquote(urlsplit(share.url).netloc.rpartition("@")[2].rpartition(":")[0])
        said = {"database": DATABASE, "sockets": sockets, "user": USER, "address": address, "port": self._port}
        (folder / "settings").write_text(_SETTINGS.format(**said, folder=folder, mode=mode))
        (folder / "users").write_text(f'"{USER}" "{PASSWORD}"\n')
        self._account.own(folder)
        for file in ("settings", "users"):
            shutil.chown(folder / file, self._account.uid, self._account.gid)
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{PASSWORD}@{self._address}:{self._port}/{DATABASE}"

    def let_in(self) -> None:
        """Have the database accept it, at each start of that."""
        let_in(self._home)

    def start(self) -> None:
        (self._folder / "pid").unlink(missing_ok=True)
        command = ["pgbouncer", "-q", self._folder / "settings"]
        self._server = self._account.popen(command, output=subprocess.DEVNULL)
        await_port(self._address, self._port, "PgBouncer")

    def kill(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGKILL)
            self._server.wait()
            self._server = None
