"""The library's public names, read from its source: what their docstrings and `#:` comments say of them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: What somebody who uses `agentcore` on its own imports from, in the order in which one meets it.
MODULES = (
    "agentcore",
    "agentcore.reasons",
    "agentcore.messages",
    "agentcore.errors",
    "agentcore.argument_validation",
    "agentcore.policy",
    "agentcore.error_policy",
    "agentcore.evaluation",
    "agentcore.continuation_outcome",
    "agentcore.criteria.builtin",
    "agentcore.criteria.envelope_retries",
    "agentcore.criteria.incomplete_answers",
    "agentcore.events",
    "agentcore.commands",
    "agentcore.states",
    "agentcore.snapshot",
    "agentcore.snapshot_parts",
    "agentcore.machine.error_context",
    "agentcore.machine.advance",
    "agentcore.continuation_merge",
    "agentcore.prefill",
    "agentcore.tool_call_markup",
    "agentcore.truncation_cause",
    "agentcore.sufficient_max_tokens",
    "agentcore.envelope",
    "agentcore.schema",
    "agentcore.schema_cost",
    "agentcore.lint",
    "agentcore.incomplete_text",
    "agentcore.verdict",
    "agentcore.completed_verdict",
    "agentcore.resource",
    "agentcore.why",
    "agentcore.why.derivation",
    "agentcore.why.tree",
    "agentcore.why.alternative_transitions",
    "agentcore.why.transition_case",
    "agentcore.providers",
    "agentcore.providers.base",
    "agentcore.providers.context_window",
    "agentcore.providers.openai",
    "agentcore.providers.openai_responses",
    "agentcore.providers.anthropic",
    "agentcore.providers.gemini",
    "agentcore.providers.bedrock",
    "agentcore.providers.ollama",
    "agentcore.providers.llama",
    "agentcore.providers.cohere",
    "agentcore.replay.recording",
    "agentcore.replay.verify",
    "agentcore.replay.what_if",
    "agentcore.replay.certainty",
    "agentcore.replay.fork",
    "agentcore.replay.recording_json",
    "agentcore.serial",
    "agentcore.type_check",
    "agentcore.version",
)


@dataclass(frozen=True, slots=True)
class Member:
    """A field, a member of an enum, or a constant. `words` is its `#:` comment; empty where it has none."""

    name: str
    type: str
    default: str
    words: str


@dataclass(frozen=True, slots=True)
class Named:
    """A public class, function or constant. `signature` is one line; `words` its docstring or comment."""

    name: str
    signature: str
    words: str
    members: tuple[Member, ...] = ()
    methods: tuple["Named", ...] = ()

    @property
    def unexplained(self) -> list[str]:
        """Members that neither a comment nor the docstring says a word of."""
        said = set(re.findall(r"\w+", self.words))
        return [f"{self.name}.{m.name}" for m in self.members if not m.words and m.name not in said]


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    words: str
    names: tuple[Named, ...]

    @property
    def wordless(self) -> list[str]:
        """Names and methods without a docstring, other than methods that a protocol explains."""
        bare = [named.name for named in self.names if not named.words]
        methods = [(named.name, method) for named in self.names for method in named.methods if not method.words]
        return bare + [f"{owner}.{method.name}" for owner, method in methods if method.name not in protocol_methods()]


@cache
def protocol_methods() -> frozenset[str]:
    """What codecs and criteria must have; said once, where the protocol is."""
    protocols = ("agentcore.providers.base", "agentcore.continuation_outcome")
    named = [named for module in protocols for named in module_of(module).names if "Protocol" in named.signature]
    return frozenset(method.name for protocol in named for method in protocol.methods if method.words)


def module_of(name: str) -> Module:
    """One module, parsed, not imported."""
    path = ROOT / name.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    return Module(name, ast.get_docstring(tree) or "", tuple(_names(tree, lines)))


def _names(tree: ast.Module, lines: list[str]) -> Iterator[Named]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) if _public(name):
                yield _class(node, lines)
            case ast.FunctionDef(name=name) if _public(name):
                yield _function(node)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if _public(name):
                yield Named(name, _constant(node), _comment(node, lines))


def _public(name: str) -> bool:
    return not name.startswith("_")


def _class(node: ast.ClassDef, lines: list[str]) -> Named:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    enum = "Enum" in bases
    members = tuple(_members(node, lines, enum=enum))
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and _public(item.name)]
    signature = f"class {node.name}({bases})" if bases else f"class {node.name}"
    return Named(node.name, signature, ast.get_docstring(node) or "", members, tuple(map(_function, methods)))


def _members(node: ast.ClassDef, lines: list[str], *, enum: bool) -> Iterator[Member]:
    for item in node.body:
        match item:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=hint, value=value) if _public(name):
                default = ast.unparse(value) if value is not None else ""
                yield Member(name, ast.unparse(hint), default, _comment(item, lines))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if enum and _public(name):
                yield Member(name, "", ast.unparse(value), _comment(item, lines))


def _function(node: ast.FunctionDef) -> Named:
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = ast.unparse(node.args)
    prefix = "property " if "property" in decorators else "classmethod " if "classmethod" in decorators else ""
    shown = f"{node.name}{returns}" if "property" in decorators else f"{node.name}({arguments}){returns}"
    return Named(node.name, f"{prefix}{shown}", ast.get_docstring(node) or "")


def _constant(node: ast.Assign | ast.AnnAssign) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 120 else text.split(" = ")[0] + " = …"


def _comment(node: ast.stmt, lines: list[str]) -> str:
    """The `#:` behind the statement, or in the lines right above it."""
    behind = lines[(node.end_lineno or node.lineno) - 1].partition("#:")[2].strip()
    if behind:
        return behind
    above, at = [], node.lineno - 2
    while at >= 0 and lines[at].strip().startswith("#:"):
        above.append(lines[at].strip().removeprefix("#:").strip())
        at -= 1
    return " ".join(reversed(above))
