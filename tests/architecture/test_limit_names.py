"""People read the name of a limit; its key follows in brackets, or stands alone only where programs read it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from agentcore.policy import SETTING_NAMES

ROOT = Path(__file__).parents[2]
#: A key in a sentence: neither in brackets after its name, nor code, nor the `key=value` of a command or an address.
_KEYS = "|".join(SETTING_NAMES)
_BARE = re.compile(rf"(?<![\w(`.“\"'/{{-])(?:{_KEYS})(?![\w=:`”\"'}}(])")
_WORDS = re.compile(r"[A-Za-z’']{2,}")
#: What programs read, what names the fields of a request or a file, and texts that histories are verified by.
APART = (
    "agentcore/criteria/",
    "agentcore/machine/",
    "agentcore/providers/",
    "agentcore/truncation_cause.py",
    "agentcore/replay/recorded_answers.py",
    "dashboard/api/",
    "dashboard/bench/",
    "dashboard/gateway/wire/",
    "dashboard/ingest/",
    "dashboard/live/operator_changes.py",
    "dashboard/policies/suggestions/limit_trials.py",
    "dashboard/simulator/",
    "dashboard/turns/indexes.py",
    "dashboard/turns/sql_views/",
)


def sentences_of(tree: ast.AST) -> Iterator[str]:
    """Texts of three words and more that are no docstrings; values within them are left out."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner | told:
            text = node.value
        else:
            continue
        if " " in text and len(_WORDS.findall(text)) > 2:
            yield text


def test_no_sentence_names_a_limit_by_its_key_alone():
    found = []
    for path in (*(ROOT / "agentcore").rglob("*.py"), *(ROOT / "dashboard").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(APART) or "/migrations/" in name:
            continue
        sentences = sentences_of(ast.parse(path.read_text(encoding="utf-8")))
        found += [f"{name}: {text}" for text in sentences if _BARE.search(text)]
    assert found == []


def test_no_template_names_a_limit_by_its_key_alone():
    found = []
    for path in (ROOT / "templates").rglob("*.html"):
        text = re.sub(
            r"\{%.*?%\}|\{\{.*?\}\}|<code>.*?</code>|<[^>]*>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in _BARE.finditer(text)]
    assert found == []


def test_a_bare_key_is_detected():
    assert _BARE.search("Raise max_tokens first.")
    for text in (
        "Max tokens per call (max_tokens) is 0",
        "such as max_tokens=50:1000:50",
        "limits.max_steps",
        "`max_steps`",
    ):
        assert not _BARE.search(text), text
