"""The server's package has what the server runs, and no benchmarks: those run from the tree."""

import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from shutil import copytree, ignore_patterns

ROOT = Path(__file__).parents[1]


def packages() -> list[str]:
    """The names of the packages that setuptools is told to take."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    folders = {
        path.parent.relative_to(ROOT) for top in ("agentcore", "dashboard") for path in (ROOT / top).rglob("*.py")
    }
    names = sorted(".".join(folder.parts) for folder in folders)
    taken = [name for name in names if any(fnmatch(name, pattern) for pattern in found["include"])]
    return [name for name in taken if not any(fnmatch(name, pattern) for pattern in found.get("exclude", ()))]


def test_the_server_package_contains_no_benchmarks() -> None:
    assert {"agentcore", "dashboard.runtime", "dashboard.client"} <= set(packages())
    assert [name for name in packages() if "bench" in name.split(".") or "build" in name.split(".")] == []


def test_only_the_benchmarks_import_them() -> None:
    files = [path for path in (ROOT / "dashboard").rglob("*.py") if "bench" not in path.relative_to(ROOT).parts]
    lines = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith(("import dashboard.bench", "from dashboard.bench", "from dashboard import bench"))
    ]
    assert lines == []


def test_the_server_loads_without_its_benchmarks(tmp_path: Path) -> None:
    copytree(ROOT / "agentcore", tmp_path / "agentcore", ignore=ignore_patterns("__pycache__"))
    copytree(ROOT / "dashboard", tmp_path / "dashboard", ignore=ignore_patterns("__pycache__", "bench"))
    asked = "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'dashboard.settings'; django.setup()"
    asked += "; from django.apps import apps; print(apps.is_installed('dashboard.bench'), apps.ready)"
    bare = subprocess.run(
        [sys.executable, "-B", "-c", asked],
        cwd=tmp_path,
        env={"PATH": "", "WHYSTOP_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (bare.stdout.strip(), bare.stderr) == ("False True", "")
