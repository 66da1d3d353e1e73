"""A sentence of ours is made last and read by people: no code takes it apart, looks into it or compares it with words.

What is looked for: a method of texts, a pattern or a comparison at a value that holds such a sentence (`SENTENCES`).
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The fields that hold sentences of ours: of evaluations, transitions, ends, turns and pages.
SENTENCES = frozenset({"reason", "notice", "verdict", "error_message", "miss"})
_MADE = frozenset({"forbidding_reason", "evaluation_text", "transition_text", "notice_text", "error_text", "stop_text"})
_READ = frozenset(
    ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit")
)
_READ |= {"replace", "find", "index", "count", "strip"}
_PATTERNS = frozenset(("match", "fullmatch", "search", "sub", "split", "findall", "finditer"))
#: The one module for old records.
LEGACY = "agentcore/replay/legacy_sentences.py"


def reads_in(tree: ast.AST) -> Iterator[ast.AST]:
    yield from (node for node in ast.walk(tree) if takes_apart(node) or compares(node))


def takes_apart(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    method = node.func.attr in _READ and is_sentence(node.func.value)
    return method or (node.func.attr in _PATTERNS and any(map(is_sentence, node.args)))


def compares(node: ast.AST) -> bool:
    """Whether a sentence is looked into, or compared with words that stand there."""
    if not isinstance(node, ast.Compare):
        return False
    if any(isinstance(operator, ast.In | ast.NotIn) for operator in node.ops):
        return any(map(is_sentence, node.comparators))
    sides = (node.left, *node.comparators)
    return any(map(is_sentence, sides)) and any(map(is_written_out, sides))


def is_written_out(node: ast.AST) -> bool:
    words = isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    return words or isinstance(node, ast.JoinedStr)


def is_sentence(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) if name in SENTENCES:
            return True
        case ast.Subscript(slice=ast.Constant(value=name)) if name in SENTENCES:
            return True
        case ast.Call(func=ast.Name(id="str"), args=[one]):
            return is_sentence(one)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            called = name == "get" and bool(node.args) and isinstance(node.args[0], ast.Constant)
            return name in _MADE or (called and node.args[0].value in SENTENCES)
        case ast.BoolOp(values=values):
            return any(map(is_sentence, values))
    return False


def modules() -> Iterator[Path]:
    for package in ("agentcore", "dashboard"):
        yield from (path for path in sorted((ROOT / package).rglob("*.py")) if "migrations" not in path.parts)


def test_no_module_parses_our_own_sentences():
    found = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)}"
        for path in modules()
        if str(path.relative_to(ROOT)) != LEGACY
        for node in reads_in(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_one_module_reads_old_records_and_its_readers_use_it():
    importing = {
        str(path.relative_to(ROOT))
        for path in modules()
        if "replay.legacy_sentences import" in path.read_text(encoding="utf-8")
    }
    assert importing == {
        "agentcore/replay/recorded_judgement.py",
        "dashboard/exports/share_links/quotable_text.py",
    }


def test_parsing_of_our_sentences_is_detected():
    for code in (
        'said["reason"].startswith("a")',
        "words in turn.notice",
        "end.error_message.removeprefix('No: ')",
        "_PATTERN.sub('', transition['reason'])",
        "said['reason'] == f'{used} of {limit}'",
        "(end.notice or end.error_message).removeprefix(LEAD)",
        "outcome.forbidding_reason().partition(' ')",
    ):
        assert list(reads_in(ast.parse(code))), code
    for code in ("stop.reason is StopReason.ERROR", "f'{turn.notice}.'", "turn.notice or ''"):
        assert not list(reads_in(ast.parse(code))), code
