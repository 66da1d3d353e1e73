"""A module that a comment or a docstring names, such as `live.driver`, is there: a rename leaves no old name."""

import re
from pathlib import Path

from tests.architecture.page import ROOT

DASHBOARD = ROOT / "dashboard"
NAMED = re.compile(r"`(?:dashboard\.)?([a-z_]+)\.([a-z_]+)(?:\.\w+)*`")


def gone(text: str, folder: Path) -> list[str]:
    """The modules and names that the text names in backquotes and that are in no package beside it or at the top."""
    named = [(package, name) for package, name in NAMED.findall(text) if packages(package, folder)]
    return [f"{one}.{name}" for one, name in named if not any(holds(each, name) for each in packages(one, folder))]


def packages(name: str, folder: Path) -> list[Path]:
    """The packages that may be meant; none where a module beside the text has the name, for a value of it is meant."""
    if (folder / f"{name}.py").is_file():
        return []
    return [place / name for place in (folder, DASHBOARD) if (place / name / "__init__.py").is_file()]


def holds(package: Path, name: str) -> bool:
    is_module = (package / f"{name}.py").is_file() or (package / name).is_dir()
    return is_module or re.search(rf"\b{name}\b", (package / "__init__.py").read_text(encoding="utf-8")) is not None


def test_every_module_named_in_a_text_exists() -> None:
    texts = sorted(DASHBOARD.rglob("*.py"))
    wrong = {str(path.relative_to(ROOT)): gone(path.read_text(encoding="utf-8"), path.parent) for path in texts}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_a_missing_module_is_reported_and_an_existing_one_is_not() -> None:
    assert gone("see `live.driver`, `gateway.wire.faults` and `os.path`", DASHBOARD) == []
    assert gone("see `live.owning` and `wire.doors`", DASHBOARD / "gateway") == ["live.owning", "wire.doors"]
