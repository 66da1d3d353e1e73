"""The files of docs/deploy: they name variables, commands and files that exist."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "deploy"
#: Of others: the images of PostgreSQL and Python.
OTHERS = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD", "PYTHONUNBUFFERED"}


def variables_of(text: str) -> set[str]:
    """Names of environment variables, by their look."""
    return set(re.findall(r"\b(?:WHYSTOP|POSTGRES|PYTHON|[A-Z]+_API|DATABASE|REDIS)_?[A-Z_]*[A-Z]\b", text))


def test_every_variable_is_a_known_setting() -> None:
    settings = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    named = {name for file in FOLDER.rglob("*") if file.is_file() for name in variables_of(file.read_text("utf-8"))}
    assert "WHYSTOP_SECRET_KEY" in named
    others = OTHERS | {"ANTHROPIC_API_KEY"}  # a provider's key is named by the connection
    assert sorted(name for name in named - others if f"`{name}`" not in settings) == []


@pytest.mark.nightly
def test_the_image_copies_everything_the_program_needs(tmp_path: Path) -> None:
    lines = (FOLDER / "Dockerfile").read_text(encoding="utf-8").splitlines()
    for sources, target in re.findall(r"^COPY (.+) (\S+)$", "\n".join(lines), re.MULTILINE):
        for source in sources.split():
            place = tmp_path / target if len(sources.split()) == 1 else tmp_path / target / source
            place.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, place)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WHYSTOP_", "DJANGO_"))}
    environment = {**kept, "WHYSTOP_DATA_DIR": str(tmp_path / "data")}
    for command in (["check"], ["web", "--help"], ["worker", "--help"]):
        program = [sys.executable, "manage.py", *command]
        subprocess.run(program, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=120)


def test_services_start_commands_that_exist() -> None:
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
    manifests = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text(encoding="utf-8"))
    units = [file.read_text(encoding="utf-8") for file in sorted((FOLDER / "systemd").iterdir())]
    started = {service["command"][0] for name, service in compose["services"].items() if name in {"web", "worker"}}
    started |= {
        part["spec"]["template"]["spec"]["containers"][0]["args"][0]
        for part in manifests
        if part["kind"] == "Deployment"
    }
    started |= {
        found[1] for unit in units if (found := re.search(r"^ExecStart=\S+ manage\.py (\w+)", unit, re.MULTILINE))
    }
    assert started == {"web", "worker"}
