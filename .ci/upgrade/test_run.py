"""What the upgrade's script makes of what `verify --all` prints: `python -m pytest .ci/upgrade`."""

import importlib.util
import runpy
import signal
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

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


def test_a_command_that_ended_before_it_was_killed_has_its_exit_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "manage.py").write_text("import sys, time; time.sleep(float(sys.argv[1]))")
    monkeypatch.setattr(RUN, "CHECKOUT", tmp_path)
    assert RUN.timed("ended", tmp_path, "0", kill_after=1.0) == 0
    assert RUN.timed("killed", tmp_path, "60", kill_after=0.5) == -signal.SIGKILL


@pytest.mark.parametrize(("codes", "expected"), [((0, 0), False), ((-9, 0), True), ((-9, 1), False), ((1, 0), False)])
def test_a_migration_that_was_not_killed_tests_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, codes: tuple[int, int], expected: bool
):
    left = iter(codes)
    monkeypatch.setattr(RUN, "timed", lambda *_words, **_options: next(left))
    assert RUN.migrated(tmp_path, 1.0) is expected


def test_a_first_release_that_prints_much_is_not_stopped(tmp_path: Path):
    (tmp_path / "manage.py").write_text(
        "import pathlib, time\nprint('x' * 1_000_000, flush=True)\npathlib.Path('done').touch()\ntime.sleep(60)\n"
    )
    with RUN.up(tmp_path, tmp_path):
        for _ in range(100):
            if (tmp_path / "done").exists():
                break
            RUN.time.sleep(0.1)
    assert (tmp_path / "done").exists()


def test_a_first_release_that_does_not_start_is_told(tmp_path: Path):
    (tmp_path / "manage.py").write_text("")
    with pytest.raises(SystemExit, match="does not start"), RUN.up(tmp_path, tmp_path):
        pass


def test_filling_ends_and_names_the_turns_that_are_left(monkeypatch: pytest.MonkeyPatch):
    left = MagicMock()
    left.objects.filter.return_value.count.return_value = 1
    left.objects.filter.return_value.order_by.return_value.values_list.return_value = [(TURN, "running")]
    agents = MagicMock(**{"Agent.objects.order_by.return_value": ["an agent"]})
    stubs = {"agents.models": agents, "live.services": MagicMock(), "turns.models": MagicMock(Turn=left)}
    for name, stub in stubs.items():
        monkeypatch.setitem(sys.modules, f"dashboard.{name}", stub)
    monkeypatch.setenv("TURNS", "1")
    monkeypatch.setenv("PATIENCE_SECONDS", "0")
    with pytest.raises(SystemExit, match=f"1 turns are left.*{TURN} \\(running\\)"):
        runpy.run_path(str(Path(__file__).with_name("fill.py")))
