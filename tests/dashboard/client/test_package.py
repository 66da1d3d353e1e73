"""The client is a package of its own: installed without the server, and importing nothing of it."""

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from shutil import copytree

import pytest

from dashboard.client import __main__

CHECKOUT = Path(__file__).parents[3]
CLIENT = CHECKOUT / "dashboard" / "client"
PIP = [sys.executable, "-m", "pip"]


def ran(*words: str, cwd: Path, **environment: str) -> str:
    """What a program prints. Raises where it fails or complains."""
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.nightly
def test_the_client_is_installed_without_the_server_and_its_command_runs(tmp_path: Path):
    source, installed = tmp_path / "source", tmp_path / "installed"
    copytree(CLIENT, source, ignore=lambda *_: ["build", "__pycache__"])
    ran(*PIP, "install", "-q", "--disable-pip-version-check", "--target", str(installed), str(source), cwd=tmp_path)
    assert {path.name for path in installed.glob("whystop_client/*.py")} == {path.name for path in CLIENT.glob("*.py")}
    help_text = ran(str(installed / "bin" / "whystop"), "--help", cwd=tmp_path, PYTHONPATH=str(installed))
    assert "Start, watch and control turns" in help_text


def test_the_client_project_uses_this_folder_and_names_its_command():
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())
    assert project["project"]["dependencies"] == []
    assert project["tool"]["setuptools"]["package-dir"] == {"whystop_client": "."}
    module, _, function = project["project"]["scripts"]["whystop"].partition(":")
    assert getattr(import_module(module.replace("whystop_client", "dashboard.client")), function) is __main__.main


def test_the_client_needs_only_the_standard_library(tmp_path: Path):
    copytree(CLIENT, tmp_path / "whystop_client")
    program = (
        "import sys, whystop_client as c, whystop_client.command_line\n"
        "[getattr(c, name) for name in c.__all__]\n"
        "print({n.partition('.')[0] for n in sys.modules} - sys.stdlib_module_names - {'__main__', 'whystop_client'})"
    )
    assert ran(sys.executable, "-S", "-c", program, cwd=tmp_path) == "set()\n"
