"""An installation of the first release with thousands of turns becomes one of this release, and every turn verifies.

`python .ci/upgrade/run.py [--turns 10000] [--data FOLDER]`. The first release is taken from the history of this
repository and driven with its own simulator. The migration is killed after a while and begun again. `--data`: the data
folder of such an installation, made before; it is changed. Prints times, sizes and memory. The first release sometimes
lost the first piece of an answer under load; such turns are named, and no others. It ends with 1 if another turn does
not verify.
"""

import argparse
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
FIRST = "efee0fe9"  #: the first release: the schema as it was first stored, and what drives turns in it
OURS = ("DATABASE_URL", "REDIS_URL", "WHYSTOP_", "OPENAI_", "DJANGO_", "PG")
ENDING_SECONDS = 60
#: A turn that `verify` names, and a script that prints the turns of which a piece of an answer is not there.
NAMED = re.compile(r"^([0-9a-f]{8}-[0-9a-f-]{27}):", re.MULTILINE)
LACKING = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT DISTINCT turn_id FROM turns_attemptchunk GROUP BY turn_id, attempt HAVING max(n) > count(*)")
    print(*(turn for turn, in cursor.fetchall()), sep="\\n")
"""


def environment(data: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, "WHYSTOP_DATA_DIR": str(data), "WHYSTOP_PORT": "0", "WHYSTOP_SIM_TOKEN_MS": "0"}


def first_release(folder: Path) -> Path:
    """The tree of the first release, below `folder`."""
    packed = subprocess.run(["git", "archive", FIRST], cwd=CHECKOUT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tree:
        tree.extractall(folder / "first", filter="data")
    return folder / "first"


@contextmanager
def up(tree: Path, data: Path) -> Iterator[None]:
    """`manage.py up` of a tree, while the block runs."""
    command = [sys.executable, "manage.py", "up"]
    with subprocess.Popen(command, cwd=tree, env=environment(data), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "the first release does not start"
        try:
            yield
        finally:
            process.terminate()
            process.wait(ENDING_SECONDS)


def filled(tree: Path, data: Path, turns: int) -> None:
    with up(tree, data), (HERE / "fill.py").open() as script:
        given = {**environment(data), "TURNS": str(turns)}
        subprocess.run([sys.executable, "manage.py", "shell", "-v0"], cwd=tree, env=given, stdin=script, check=True)


def timed(name: str, data: Path, *words: str, kill_after: float | None = None, output: Any = None) -> int:
    """Runs a command of this release and prints what it took. Its exit code; negative: the signal that ended it."""
    began = time.monotonic()
    command = [sys.executable, "manage.py", *words]
    process = subprocess.Popen(command, cwd=CHECKOUT, env=environment(data), stdout=output)
    if kill_after is not None:
        time.sleep(kill_after)
        process.kill()
    _, status, used = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    took = {"seconds": round(time.monotonic() - began, 1), "MB of memory at most": used.ru_maxrss // 1024}
    report(f"{name}, exit code {code}", data, took)
    return code


def verified(data: Path) -> bool:
    """Whether every turn verifies, but for those of which the first release lost a piece."""
    with tempfile.TemporaryFile("w+") as output:
        timed("verification", data, "verify", "--all", output=output)
        output.seek(0)
        told = output.read()
    sys.stdout.write(told)
    named = set(NAMED.findall(told))
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", LACKING]
    lacking = subprocess.run(command, cwd=CHECKOUT, env=environment(data), check=True, capture_output=True, text=True)
    others = named - set(lacking.stdout.split())
    sys.stdout.write(f"{len(named)} turns are named, {len(others)} of them whole when they were recorded.\n")
    return not others and "turn" in told


def report(name: str, data: Path, told: Mapping[str, object]) -> None:
    words = ", ".join(f"{value} {what}" for what, value in told.items())
    sys.stdout.write(f"\n{name}: {words}, {size(data)} MB on disk\n")
    sys.stdout.flush()


def size(data: Path) -> int:
    """MB of the data folder, the write-ahead log left out: it is recycled at its own pace."""
    files = (file for file in data.rglob("*") if "pg_wal" not in file.parts and file.is_file())
    return sum(file.stat().st_size for file in files) // 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--data", type=Path, help="the data folder of a filled installation of the first release")
    parser.add_argument("--kill-after", type=float, default=10.0, help="seconds of the migration before it is killed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="why-upgrade-") as made:
        data = asked.data or Path(made, "data")
        if asked.data is None:
            began = time.monotonic()
            filled(first_release(Path(made)), data, asked.turns)
            report("filled", data, {"turns": asked.turns, "seconds": round(time.monotonic() - began)})
        report("before", data, {"release": FIRST})
        timed("migration, killed", data, "migrate", kill_after=asked.kill_after)
        if timed("migration, again", data, "migrate"):
            return 1
        return 0 if verified(data) else 1


if __name__ == "__main__":
    sys.exit(main())
