"""The fenced blocks of the documents."""

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_ASSIGNMENT = re.compile(r"([A-Z][A-Z_]*)=")


def blocks_of(page: Path, language: str) -> list[str]:
    """The page's blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands() -> Iterator[tuple[str, str]]:
    """Every fenced command with its page, as a path: a line of a shell block that is not only settings, and as a whole
    a block that calls curl, a Python block without prompts, and a command in a block without a language."""
    for page in DOCUMENTS:
        name = str(page.relative_to(ROOT))
        for block in blocks_of(page, "sh"):
            parts = [block] if "curl" in block else block.splitlines()
            yield from ((name, part.strip()) for part in parts if part.strip() and variables_and_words(part)[1])
        yield from ((name, block.strip()) for block in blocks_of(page, "python") if ">>>" not in block)
        yield from ((name, block.strip()) for block in blocks_of(page, "") if block.startswith(".venv/"))


def lines() -> Iterator[tuple[str, str]]:
    """Each line of a shell block with the name of its page; a block that calls curl is a script of its own."""
    for page in DOCUMENTS:
        for block in blocks_of(page, "sh"):
            if "curl" not in block:
                yield from ((page.name, line) for line in block.splitlines() if line.strip())


def variables_and_words(line: str) -> tuple[list[str], list[str]]:
    """The environment variables that a line sets, and the words of its command, up to a redirection."""
    command = re.split(r" [<>] ", line, maxsplit=1)[0]
    words = shlex.split(command.removeprefix("export "), comments=True)
    names = [found[1] for found in takewhile(bool, map(_ASSIGNMENT.match, words)) if found]
    return names, words[len(names) :]
