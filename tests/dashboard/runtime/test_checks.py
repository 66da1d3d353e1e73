"""Django's own check of a deployment, with the settings of docs/how-to/deploying.md, and without some of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nightly import nightly

ROOT = Path(__file__).parents[3]


def documented() -> dict[str, str]:
    """The first settings below “The proxy”."""
    section = (ROOT / "docs" / "how-to" / "deploying.md").read_text().split("\n## The proxy\n")[1]
    block = section.split("```sh\n")[1].split("```")[0]
    return dict(line.split("=", 1) for line in block.splitlines())


def checked(folder: Path, **variables: str) -> tuple[int, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WHYSTOP_")}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    environment = {**kept, "WHYSTOP_DATA_DIR": str(folder), **variables}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    return run.returncode, run.stdout + run.stderr


@pytest.mark.parametrize("hsts", [None, nightly("preload")])
def test_the_documented_settings_cause_no_warnings(tmp_path: Path, hsts: str | None):
    status, said = checked(tmp_path, **{**documented(), **({"WHYSTOP_HSTS": hsts} if hsts else {})})
    assert status == 0, said
    assert "W0" not in said


def test_undecided_settings_are_reported(tmp_path: Path):
    given = {**documented(), "WHYSTOP_HSTS": "", "WHYSTOP_TRUSTED_PROXIES": ""}
    status, said = checked(tmp_path, **given)
    assert status == 1
    assert [name for name in ("W005", "W008", "W021") if f"security.{name}" in said] == ["W005", "W008", "W021"]
