"""An installation of the first release with thousands of turns becomes one of this release, and every turn verifies.

`python .ci/upgrade/run.py [--turns 10000] [--data FOLDER]`. The first release is taken from the history of this
repository and driven with its own simulator. The migration is killed after a while and begun again. `--data`: the data
folder of such an installation, made before; it is changed. Prints times, sizes and memory; ends with 1 if a turn does
not verify.
"""

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
FIRST = "efee0fe9"  #: the first release: the schema as it was first stored, and what drives turns in it
OURS = ("DATABASE_URL", "REDIS_URL", "WHYSTOP_", "OPENAI_", "DJANGO_", "PG")
ENDING_SECONDS = 60


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


def timed(name: str, data: Path, *words: str, kill_after: float | None = None) -> int:
    """Runs a command of this release and prints what it took. Its exit code; negative: the signal that ended it."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "manage.py", *words], cwd=CHECKOUT, env=environment(data))
    if kill_after is not None:
        time.sleep(kill_after)
        process.kill()
    _, status, used = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    took = {"seconds": round(time.monotonic() - began, 1), "MB of memory at most": used.ru_maxrss // 1024}
    report(f"{name}, exit code {code}", data, took)
    return code


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
        return timed("verification", data, "verify", "--all")


if __name__ == "__main__":
    sys.exit(main())
