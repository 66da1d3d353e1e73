"""The table of contents: what `docs/index.md` lists, by kind, and the files behind it.

A page has the name of its file below `docs/` without `.md` (`how-to/gateway`); `CONTRIBUTING.md` at the top of the
checkout is `contributing`. Whatever the index does not list is not served.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath

from django.urls import reverse

from dashboard.platform.environment import CHECKOUT

FOLDER = CHECKOUT / "docs"
INDEX = "index"
_ABOVE = {"../CONTRIBUTING": "contributing"}
_ENTRY = re.compile(r"- \[(?P<title>[^\]]+)\]\((?P<file>[^)#]+)\.md\)")


@dataclass(frozen=True, slots=True)
class Page:
    """`name` stands in the address, `title` in the table of contents; `file` is relative to `docs/`."""

    name: str
    title: str
    file: str

    @property
    def address(self) -> str:
        """Where the page is served."""
        return reverse("docs:index") if self.name == INDEX else reverse("docs:page", args=[self.name])

    def text(self) -> str:
        return (FOLDER / self.file).read_text(encoding="utf-8")

    def target(self, link: str) -> str:
        """What a relative link on this page means, relative to `docs/`."""
        return normpath(join(dirname(self.file), link))


@dataclass(frozen=True, slots=True)
class Kind:
    """One section of the table of contents."""

    title: str
    pages: tuple[Page, ...]


@cache
def kinds() -> tuple[Kind, ...]:
    """The kinds of pages in the order of the index."""
    index = (FOLDER / f"{INDEX}.md").read_text(encoding="utf-8")
    sections = [section.split("\n", 1) for section in index.split("\n## ")[1:]]
    return tuple(Kind(title, tuple(_page(**found) for found in _entries(body))) for title, body in sections)


@cache
def pages() -> dict[str, Page]:
    """Every page by its name, the index first."""
    listed = [page for kind in kinds() for page in kind.pages]
    return {page.name: page for page in (Page(INDEX, "Documentation", f"{INDEX}.md"), *listed)}


@cache
def files() -> dict[str, Page]:
    """Every page by its file."""
    return {page.file: page for page in pages().values()}


@cache
def _images() -> dict[str, Path]:
    return {path.relative_to(FOLDER).as_posix(): path for path in FOLDER.rglob("*.png")}


def image_at(name: str) -> Path | None:
    """The picture of that name below `docs/`; None where there is none."""
    return _images().get(name)


def _entries(body: str) -> list[dict[str, str]]:
    return [found.groupdict() for found in _ENTRY.finditer(body)]


def _page(title: str, file: str) -> Page:
    return Page(_ABOVE.get(file, file), title.replace("`", ""), f"{file}.md")  # a list and a tab show no code
