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
