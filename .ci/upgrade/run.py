"""An installation of the first release with thousands of turns becomes one of this release, and every turn verifies.

`python .ci/upgrade/run.py [--turns 10000] [--data FOLDER]`. The first release is taken from the history of this
repository and driven with its own simulator. The migration is killed after a while and begun again. `--data`: the data
folder of such an installation, made before; it is changed. Prints times, sizes and memory. The first release sometimes
lost the first piece of an answer under load; such turns are named, and no others. It ends with 1 if another turn does
not verify, if anything else is named, if a turn is gone, or if the migration ended before it was killed.
"""

import argparse
import io
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
FIRST = "efee0fe9"  #: the first release: the schema as it was first stored, and what drives turns in it
OURS = ("DATABASE_URL", "REDIS_URL", "WHYSTOP_", "OPENAI_", "DJANGO_", "PG")
BEGINNING_SECONDS, ENDING_SECONDS = 120, 60
#: What `verify` prints: a line for each fault, which begins with its place, and then the number of turns.
NAMED = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}): ")
COUNTED = re.compile(r"([0-9,]+) turns, ")
ALL = "SELECT count(*) FROM turns_turn"
#: The turns of which a piece of an answer is not there.
LACKING = "SELECT DISTINCT turn_id FROM turns_attemptchunk GROUP BY turn_id, attempt HAVING max(n) > count(*)"
ASK = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute({!r})
    print(*(value for value, in cursor.fetchall()), sep="\\n")
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
    """`manage.py up` of a tree, while the block runs. What it prints goes to a file: a full pipe would stop it."""
    command = [sys.executable, "manage.py", "up"]
    with (
        tempfile.TemporaryFile() as printed,
        subprocess.Popen(command, cwd=tree, env=environment(data), stdout=printed) as process,
    ):
        try:
            wait_for_words(process, printed.fileno())
            yield
        finally:
            process.terminate()
            process.wait(ENDING_SECONDS)


def wait_for_words(process: "subprocess.Popen[bytes]", printed: int) -> None:
    """Until the process has printed something: its address."""
    latest = time.monotonic() + BEGINNING_SECONDS
    while not os.fstat(printed).st_size:
        if process.poll() is not None or time.monotonic() > latest:
            sys.exit("The first release does not start.")
        time.sleep(0.1)


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
        wait_for_end(process.pid, kill_after)
        os.kill(process.pid, signal.SIGKILL)  # Popen.kill() would take the exit code of a process that has ended
    _, status, used = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    took = {
        "seconds": round(time.monotonic() - began, 1),
        "seconds of processor": round(used.ru_utime + used.ru_stime, 1),
        "MB of memory at most": used.ru_maxrss // 1024,
    }
    report(f"{name}, exit code {code}", data, took)
    return code


def wait_for_end(pid: int, seconds: float) -> None:
    """Of a process, until it has used so many seconds of processor: on a busy machine, one may not have begun after as
    many by the clock. Its exit code is still to be taken."""
    ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.waitid(os.P_PID, pid, ended) is None and processor_seconds(pid) < seconds:
        time.sleep(0.05)


def processor_seconds(pid: int) -> float:
    """What a process has used, by /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def asked(data: Path, query: str) -> list[str]:
    """The first column of a query's result."""
    command = [sys.executable, "manage.py", "shell", "-v0", "--no-imports", "-c", ASK.format(query)]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment(data), check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.split()


def migrated(data: Path, kill_after: float) -> bool:
    """Whether a migration was killed before its end, and the next one reached it."""
    code = timed("migration, killed", data, "migrate", kill_after=kill_after)
    if code != -signal.SIGKILL:
        sys.stdout.write(
            f"Nothing was tested: the migration took {kill_after} s of processor or less; its exit code is {code}.\n"
        )
        return False
    return timed("migration, again", data, "migrate") == 0


def verified(data: Path, turns: int) -> bool:
    """Whether all these turns are there and verify, but for those of which the first release lost a piece."""
    with tempfile.TemporaryFile("w+") as output:
        code = timed("verification", data, "verify", "--all", output=output)
        output.seek(0)
        told = output.read()
    sys.stdout.write(told)
    found = list(objections(told, code, turns=turns, lacking=set(asked(data, LACKING))))
    sys.stdout.writelines(f"{objection}\n" for objection in found)
    return not found


def objections(told: str, code: int, *, turns: int, lacking: AbstractSet[str]) -> Iterator[str]:
    """What speaks against an output of `verify --all` and its exit code, in sentences."""
    lines = told.splitlines()
    counted = [(at, found) for at, line in enumerate(lines) if (found := COUNTED.match(line))]
    if len(counted) != 1:
        yield "The verification did not end with a number of turns."
        return
    ((end, number),) = counted
    if (verified_turns := int(number[1].replace(",", ""))) != turns:
        yield f"{verified_turns} turns were verified, and {turns} were there before the migration."
    for line in lines[:end]:
        named = NAMED.match(line)
        if named is None:
            yield f"This names no turn: {line}"
        elif named[1] not in lacking:
            yield f"This turn was whole when it was recorded: {named[1]}"
    if code != (1 if end else 0):
        yield f"The exit code is {code}, and {end} lines name something."


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
    parser.add_argument(
        "--kill-after", type=float, default=3.0, help="the migration's seconds of processor before it is killed"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="why-upgrade-") as made:
        Path(made).chmod(0o711)  # the user that runs PostgreSQL must reach it, or the database is elsewhere and stays
        data = given.data or Path(made, "data")
        if given.data is None:
            began = time.monotonic()
            filled(first_release(Path(made)), data, given.turns)
            report("filled", data, {"turns": given.turns, "seconds": round(time.monotonic() - began)})
        turns = int(asked(data, ALL)[0])
        report("before", data, {"turns": turns, "release": FIRST})
        return 0 if migrated(data, given.kill_after) and verified(data, turns) else 1


if __name__ == "__main__":
    sys.exit(main())
