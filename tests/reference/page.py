"""docs/reference/library.md: the public names of the library with what their source says of them."""

from collections.abc import Iterator
from textwrap import dedent

from tests.reference.sources import MODULES, Member, Module, Named, module_of

_HEAD = """# Reference: `agentcore`

Every public name of the library, for people who write programs with it. Start with [the library, by
examples](../tutorial/agentcore.md), which shows how the parts work together.

On this page, tokens are counted as the provider counts them, characters are Unicode code points, and times are seconds
since the turn started. `None` means “not known”, or “no limit” for a limit. Values are frozen. Nothing does I/O.

This page is generated from the docstrings; a test fails while it is not current. To generate it again:
`python -m tests.reference > docs/reference/library.md`.
"""


def page() -> str:
    """The text of docs/reference/library.md."""
    modules = [module_of(name) for name in MODULES]
    index = "\n".join(f"- [`{m.name}`](#{_anchor(m.name)}): {_first_sentence(m.words)}" for m in modules)
    return "\n".join([_HEAD, index, "", *(line for module in modules for line in _module(module))])


def _anchor(name: str) -> str:
    return name.replace(".", "")


def _first_sentence(words: str) -> str:
    return " ".join(words.split("\n\n", maxsplit=1)[0].split())


def _module(module: Module) -> Iterator[str]:
    yield from (f"## {module.name}", "", _prose(module.words), "")
    for named in module.names:
        yield from _named(named)


def _named(named: Named) -> Iterator[str]:
    yield from (f"### {named.name}", "", f"`{named.signature}`", "")
    if named.words:
        yield from (_prose(named.words), "")
    if named.members:
        yield from _members(named.members)
    for method in named.methods:
        yield f"- `{method.signature}`" + (f": {' '.join(method.words.split())}" if method.words else "")
    if named.methods:
        yield ""


def _members(members: tuple[Member, ...]) -> Iterator[str]:
    typed = any(member.type for member in members)
    yield "| field | type | default | |" if typed else "| member | value | |"
    yield "|---|---|---|---|" if typed else "|---|---|---|"
    for member in members:
        cells = [member.name, member.type, member.default] if typed else [member.name, member.default]
        code = [f"`{cell}`".replace("|", "\\|") if cell else "" for cell in cells]
        yield "| " + " | ".join([*code, member.words.replace("|", "\\|")]) + " |"
    yield ""


def _prose(words: str) -> str:
    """A docstring as Markdown: its paragraphs as they are, indented blocks as code."""
    blocks = words.split("\n\n")
    return "\n\n".join(f"```\n{dedent(block)}\n```" if _is_code(block) else block for block in blocks)


def _is_code(block: str) -> bool:
    """Lines that are set out in columns lose their sense when they flow."""
    lines = block.splitlines()
    return all(line.startswith("    ") or "   " in line.strip() for line in lines) and bool(lines)
