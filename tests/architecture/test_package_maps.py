"""The docstring of a package lists its modules, `name  what it is`; who is new here goes by these lists."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.page import ROOT

ROW = re.compile(r"([a-z]\w*(?:\.\w+)?(?:, [a-z]\w*(?:\.\w+)?)*)  +\S")  #: modules; a capital begins a class
PACKAGES = sorted(path for place in ("agentcore", "dashboard") for path in (ROOT / place).rglob("__init__.py"))


def listed(package: Path) -> list[str]:
    lines = (ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or "").splitlines()
    rows = (ROW.match(line) for line in lines)
    return [name for row in rows if row for name in row[1].split(", ")]


def test_every_module_listed_by_a_package_exists():
    missing = {
        str(package.relative_to(ROOT)): gone
        for package in PACKAGES
        if (gone := [name for name in listed(package) if not is_there(package.parent, name)])
    }
    assert missing == {}


def is_there(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name).exists()


@pytest.mark.parametrize(("package", "name"), [("agentcore", "states"), ("dashboard/live", "driver")])
def test_the_package_lists_are_read(package, name):
    assert name in listed(ROOT / package / "__init__.py")
