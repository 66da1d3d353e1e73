"""The data folder of a first start of `manage.py up`, made once in a run of the tests, and copied by who needs one.

Its tables are those of the suite's template, where the suite has a server of its own: to load a dump of them takes a
quarter of the processor time that the migrations take.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from dashboard.platform.postgres.binaries import binaries_for
from dashboard.platform.postgres.paths import SYSTEM_FOLDER, find_cluster_paths

CHECKOUT = Path(__file__).resolve().parents[1]
OURS = ("DATABASE_URL", "REDIS_URL", "WHYSTOP_", "OPENAI_", "DJANGO_", "PG")
_PLACE = "why-first-{run}"
#: For the database's server. What its programs promise when they are killed does not depend on when the disk has
#: written: only when the machine itself ends is that lost, which no test tries.
UNHURRIED = """
fsync = off
full_page_writes = off
wal_init_zero = off
wal_recycle = off
autovacuum = off
"""


def environment(store: Path) -> dict[str, str]:
    """For a program of its own: nothing of the suite's, any port, an embedded database in `store`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, "WHYSTOP_DATA_DIR": str(store), "WHYSTOP_PORT": "0"}


def copied_to(store: Path, *, run: int, with_tables: Callable[[Path], None] | None) -> None:
    """Makes `store` what it is after a first start; `run`: the process that has started all workers of this run.

    `with_tables`: makes the database of a data folder with all tables; None where the start itself is to migrate.
    Static files are the same ones under other names: nobody writes to them, and there are fifteen hundred.
    """
    made = _made(run, with_tables)
    store.mkdir(exist_ok=True)
    shutil.copystat(made, store)
    static, *others = sorted(made.iterdir(), key=lambda part: part.name != "static")
    subprocess.run(["cp", "-a", *others, store], check=True)
    linked = "-al" if made.stat().st_dev == store.stat().st_dev else "-a"
    subprocess.run(["cp", linked, static, store], check=True)


def forget(run: int) -> None:
    """Nobody of this run copies any more; nor do those of runs that were killed."""
    for place in Path(tempfile.gettempdir()).glob(_PLACE.format(run="*")):
        found = re.search(r"\d+$", place.name)
        if found and (int(found[0]) == run or not Path("/proc", found[0]).exists()):
            shutil.rmtree(place, ignore_errors=True)


def _made(run: int, with_tables: Callable[[Path], None] | None) -> Path:
    place = Path(tempfile.gettempdir(), _PLACE.format(run=run))
    place.mkdir(exist_ok=True)
    place.chmod(0o755)  # the server may be another user's
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "made").exists():
            shutil.rmtree(place / "store", ignore_errors=True)  # half made
            if with_tables is not None:
                with_tables(place / "store")
            _start(environment(place / "store"))
            _shorten_log(place / "store")
            with (place / "store/postgres/data/postgresql.auto.conf").open("a") as settings:
                settings.write(UNHURRIED)
            (place / "made").touch()
    return place / "store"


def _start(given: Mapping[str, str]) -> None:
    command = [sys.executable, "manage.py", "up"]
    with subprocess.Popen(command, cwd=CHECKOUT, env=given, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        assert up.stdout.readline(), "`manage.py up` said nothing"
        up.terminate()
    assert up.returncode == 0


def _shorten_log(store: Path) -> None:
    """The write-ahead log of a stopped server begins anew, in files of 1 MiB: two of the usual 16 MiB took most of the
    time of each copy."""
    home = find_cluster_paths(store)
    program = binaries_for(home.account, system_folder=SYSTEM_FOLDER).root / "bin" / "pg_resetwal"
    code, said = home.account.run([program, "--wal-segsize=1", "-D", home.data])
    assert code == 0, said
