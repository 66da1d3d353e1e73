"""The page on own code and libraries: its modules exist and have about as many lines, its libraries are required."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/explanation/libraries.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")]
OWN = [row for row in ROWS if len(row) == 6 and row[2].isdigit()]
LIBRARIES = [row[1] for row in ROWS if len(row) == 2 and row[0] not in ("task", "---")]


def lines_of(cell: str) -> int:
    """The lines of the modules in a cell; a name without a folder is in that of the name before it."""
    folder, count = ROOT, 0
    for name in re.findall(r"`([^`]+)`", cell):
        if "/" in name:
            top = ROOT if name.startswith("agentcore/") else ROOT / "dashboard"
            folder, name = (top / name).parent, Path(name).name
        count += len((folder / name).read_text(encoding="utf-8").splitlines())
    return count


def test_own_modules_have_the_documented_number_of_lines_within_a_fifth() -> None:
    wrong = [(row[0], row[2], lines_of(row[1])) for row in OWN if not 0.8 < lines_of(row[1]) / int(row[2]) < 1.25]
    assert (len(OWN) > 5, wrong) == (True, [])


def test_each_library_in_use_is_a_dependency_of_the_package() -> None:
    required = (ROOT / "pyproject.toml").read_text().casefold().partition("[project.optional")[0]
    names = [name for cell in LIBRARIES for name in re.findall(r"[\w-]+(?=,|$)|^[\w-]+", cell.partition(", in ")[0])]
    known = {"django-pgtrigger"}  # comes with django-pghistory
    assert [name for name in names if name.casefold() not in required and name not in known] == []
