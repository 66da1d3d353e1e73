"""Pages, template tags, sockets, API and admin ask selectors and services; none of them queries (design §2)."""

import ast
from pathlib import Path

import pytest

from tests.together import together

DASHBOARD = Path(__file__).parents[2] / "dashboard"
ASKING = sorted(
    {
        *DASHBOARD.rglob("views.py"),
        *DASHBOARD.rglob("*_views.py"),
        *DASHBOARD.rglob("templatetags/*.py"),
        *DASHBOARD.rglob("consumers.py"),
        *DASHBOARD.rglob("admin.py"),
        *DASHBOARD.rglob("routes.py"),
        *(DASHBOARD / "api").glob("*.py"),
    }
    - {DASHBOARD / "timeline" / "saved_views.py"}  # it stores the views of the timeline that a user has saved
)


@together
@pytest.mark.parametrize("path", ASKING, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_views_contain_no_queries_of_their_own(path: Path) -> None:
    managers = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "objects"
    ]
    assert managers == [], f"{path}: ask a selector"


def test_the_check_finds_views() -> None:
    assert {path.parent.name for path in ASKING} >= {"api", "live", "replay", "templatetags", "tools", "turns"}
