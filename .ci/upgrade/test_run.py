"""The upgrade's script, with a few turns of the first release: `python -m pytest .ci/upgrade`."""

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

TURN, OTHER = "01a2b3c4-0000-7000-8000-000000000001", "01a2b3c4-0000-7000-8000-000000000002"
END = "2,000 turns, 0 sealed by 0 seals, 0 erased, 2,000 not chained yet.\n"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("upgrade_run", Path(__file__).with_name("run.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUN = _script()
TURNS = 16


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """The user that runs PostgreSQL can reach it."""
    with tempfile.TemporaryDirectory(prefix="why-upgrade-test-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


@pytest.fixture(scope="module")
def first(folder: Path) -> Path:
    tree: Path = RUN.first_release(folder)
    return tree


@pytest.fixture(scope="module")
def data(folder: Path, first: Path) -> Path:
    """An installation of the first release, with turns of each of its agents."""
    RUN.filled(first, folder / "data", TURNS)
    return folder / "data"


def _upgraded(data: Path, kill_after: float) -> tuple[int, str]:
    """The script's exit code, and what it printed."""
    command = [sys.executable, RUN.HERE / "run.py", "--data", data, "--kill-after", str(kill_after)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def test_a_process_is_waited_for_by_its_processor_time_not_by_the_clock():
    """One that sleeps uses none, so it is waited for until it ends; one that computes is not."""
    with subprocess.Popen(["sleep", "1"]) as sleeping:
        RUN.wait_for_end(sleeping.pid, 0.5)
        assert sleeping.poll() == 0
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as computing:
        RUN.wait_for_end(computing.pid, 0.2)
        assert computing.poll() is None
        assert RUN.processor_seconds(computing.pid) >= 0.2
        computing.kill()


@pytest.mark.parametrize(
    ("told", "code", "objection"),
    [
        (END, 0, None),
        (f"{TURN}: Its raw answer is not what was read.\n{END}1 faults.\n", 1, None),
        (f"{OTHER}: Its raw answer is not what was read.\n{END}1 faults.\n", 1, "whole when it was recorded"),
        (f"seal 3: Its signature is not this installation's.\n{END}1 faults.\n", 1, "names no turn: seal 3"),
        (f"{TURN}: It differs.\nand 12 more\n{END}13 faults.\n", 1, "names no turn: and 12 more"),
        (f"{TURN}: It differs.\n{END}", 0, "exit code is 0"),
        (END, 1, "exit code is 1"),
        (END, -9, "exit code is -9"),
        (END.replace("2,000 turns,", "0 turns,"), 0, "0 turns were verified"),
        (END.replace("2,000 turns,", "1,999 turns,"), 0, "1999 turns were verified"),
        ("Traceback: no turns\n", 1, "did not end with a number"),
        ("", 0, "did not end with a number"),
    ],
)
def test_an_output_of_verify_is_accepted_only_if_every_named_turn_is_explained(
    told: str, code: int, objection: str | None
):
    found = list(RUN.objections(told, code, turns=2000, lacking={TURN}))
    assert len(found) == (0 if objection is None else 1), found
    assert objection is None or objection in found[0]


def test_an_installation_of_the_first_release_is_upgraded_and_its_turns_verify(data: Path):
    code, told = _upgraded(data, kill_after=3)
    assert code == 0, told
    assert f"before: {TURNS} turns" in told
    assert "migration, killed, exit code -9" in told
    assert "migration, again, exit code 0" in told
    # There is nothing left to migrate, so nothing is killed.
    code, told = _upgraded(data, kill_after=120)
    assert code == 1
    assert "Nothing was tested: the migration took 120.0 s of processor or less; its exit code is 0." in told


def test_filling_ends_and_names_the_turns_that_nobody_drives(folder: Path, first: Path):
    data = folder / "without a worker"
    with RUN.up(first, data):
        pass
    given = {**RUN.environment(data), "TURNS": "1", "PATIENCE_SECONDS": "1"}
    with (RUN.HERE / "fill.py").open() as script:
        command = [sys.executable, "manage.py", "shell", "-v0"]
        done = subprocess.run(
            command, cwd=first, env=given, stdin=script, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert "1 turns are left, and none has ended for 1 s: " in done.stderr
    assert "(queued)" in done.stderr


def test_a_first_release_that_does_not_start_is_told(folder: Path, first: Path):
    blocked = folder / "blocked"
    blocked.touch()  # where the data folder would be
    with pytest.raises(SystemExit, match="does not start"), RUN.up(first, blocked):
        pass
