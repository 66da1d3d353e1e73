"""A number and its unit are written by `agentcore.number_format` alone, so that each has one form."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_UNIT = re.compile(r"[ \u00a0\u202f](?:%|ms|s|min|h)(?![\w%(])")
_IN_TEMPLATES = re.compile(r"(?:\}\}|floatformat[^}]*\}\})[ \u00a0\u202f]?(?:%|ms|s|min|h)(?![\w%])(?!['\"=])")
_IN_SCRIPTS = re.compile(r"\$\{[^}]*\}[ \u00a0\u202f](?:%|ms|s|min|h)(?!\w)")
#: Sentences that histories are verified by: other words would be a new version of the core.
STORED = ("agentcore/machine/", "agentcore/criteria/", "agentcore/replay/")
#: What is installed without the server, imports nothing of it, or is read by machines.
APART = ("dashboard/client/", "dashboard/simulator/", "dashboard/bench/")
ONE = "agentcore/number_format.py"


def written_by_hand(tree: ast.AST) -> Iterator[ast.JoinedStr]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, after in zip(node.values, node.values[1:], strict=False):
            text = after.value if isinstance(after, ast.Constant) else ""
            if isinstance(value, ast.FormattedValue) and isinstance(text, str) and _UNIT.match(text):
                yield node


def test_no_module_writes_a_unit_after_a_number():
    found = []
    for path in (*(ROOT / "agentcore").rglob("*.py"), *(ROOT / "dashboard").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name == ONE or name.startswith((*STORED, *APART)) or "/migrations/" in name:
            continue
        nodes = written_by_hand(ast.parse(path.read_text(encoding="utf-8")))
        found += [f"{name}:{node.lineno}: {ast.unparse(node)}" for node in nodes]
    assert found == []


def test_no_template_writes_a_unit_after_a_number():
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in (ROOT / "templates").rglob("*.html")
        for match in _IN_TEMPLATES.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_no_script_writes_a_unit_after_a_number():
    scripts = (path for path in (ROOT / "static/js").rglob("*.js") if "vendor" not in path.parts)
    assert [path.name for path in scripts if _IN_SCRIPTS.search(path.read_text(encoding="utf-8"))] == []


def test_a_hand_written_unit_is_detected():
    for code in ('f"{x:.1f} s"', 'f"{100 * x:.0f} % of them"', 'f"took {x} ms."', 'f"{x}\\u202fmin"'):
        assert list(written_by_hand(ast.parse(code))), code
    for code in ('f"{x} steps"', 'f"{noun}s"', 'f"{day} %H:%M"', 'f"{column} >= %({low})s"'):
        assert not list(written_by_hand(ast.parse(code))), code
