"""A page's Markdown as HTML and as sections of plain text, by `markdown-it-py` (CommonMark and tables).

Raw HTML is shown as text, and an address may only be of http, https or mailto, or a place on this site. Links between
the files become links between the pages; a link to any other file of the checkout becomes its words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

from django.urls import reverse
from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from dashboard.documentation.contents import Page, files


@dataclass(slots=True)
class Section:
    """A heading with the text below it, up to the next one. `level` is 1 for the page's title."""

    level: int
    anchor: str
    title: str
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@dataclass(frozen=True, slots=True)
class Document:
    """A page as it is shown (`html`) and searched (`sections`)."""

    html: str
    sections: tuple[Section, ...]

    @property
    def headings(self) -> list[Section]:
        """What a table of the page's contents lists."""
        return [section for section in self.sections if section.level == 2]


@cache
def document_of(page: Page) -> Document:
    """The page, read once per process."""
    markdown = MarkdownIt("js-default", renderer_cls=_Renderer)
    tokens = markdown.parse(page.text())
    sections = tuple(_sections(tokens))
    _adapt(tokens, page)
    return Document(markdown.renderer.render(tokens, markdown.options, {}), sections)


class _Renderer(RendererHTML):
    """Code can be copied; what is too wide scrolls by itself and is reached by the keyboard."""

    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return (
            f'<div class="code"><pre tabindex="0"><code id="code-{idx}">{escape(tokens[idx].content)}</code></pre>'
            f'<button class="btn small" type="button" data-copy="code-{idx}">Copy</button></div>\n'
        )

    def code_block(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return self.fence(tokens, idx)

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """A picture of a page, named `…-light-…`, has a twin for the dark theme."""
        token, source = tokens[idx], str(tokens[idx].attrGet("src"))
        if "-light-" not in source:
            return super().image(tokens, idx, options, env)
        token.attrSet("class", "light")
        light = super().image(tokens, idx, options, env)
        token.attrSet("class", "dark")
        token.attrSet("src", source.replace("-light-", "-dark-"))
        return light + super().image(tokens, idx, options, env)

    def table_open(self, *_: Any) -> str:
        return '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    """The sections; each heading is given an id, as Git hosts make it."""
    section, taken = Section(1, "", ""), set[str]()
    for opening, token in pairwise(tokens):
        if opening.type == "heading_open":
            if section.title:
                yield section
            title = _plain(token)
            section = Section(int(opening.tag[1]), _anchor(title, taken), title)
            opening.attrSet("id", section.anchor)
        elif token.type in {"inline", "fence", "code_block"}:
            section.texts.append(_plain(token))
    yield section


def _anchor(title: str, taken: set[str]) -> str:
    base = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    anchor, n = base, 0
    while anchor in taken:
        n += 1
        anchor = f"{base}-{n}"
    taken.add(anchor)
    return anchor


def _plain(token: Token) -> str:
    if token.type != "inline":
        return token.content
    return "".join(" " if child.type == "softbreak" else child.content for child in token.children or [])


def _unname_empty_headers(tokens: Sequence[Token]) -> None:
    """Make a heading without text a plain cell: the corner of a table heads nothing."""
    for opening, text, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "th_open" and not text.content.strip():
            opening.tag = closing.tag = "td"


def _adapt(tokens: Sequence[Token], page: Page) -> None:
    _unname_empty_headers(tokens)
    for token in tokens:
        if token.attrs.pop("style", None):  # of a column of numbers; the policy of the site refuses styles in a page
            token.attrSet("class", "num")
        open_links: list[bool] = []
        for child in token.children or []:
            if child.type == "link_open":
                open_links.append(_set_link(child, page))
            elif child.type == "link_close" and not open_links.pop():
                child.tag = "span"
            elif child.type == "image":
                child.attrSet("src", reverse("docs:page", args=[page.target(str(child.attrGet("src")))]))
                child.attrSet("loading", "lazy")


def _set_link(token: Token, page: Page) -> bool:
    """Let a link lead to the page of its file; whether it still is a link."""
    path, _, anchor = str(token.attrGet("href")).partition("#")
    if not path or path.startswith("/") or re.match(r"[a-z]+:", path):
        return True
    target = files().get(page.target(path))
    if target is None:
        token.tag, token.attrs = "span", {}
        return False
    token.attrSet("href", target.address + (f"#{anchor}" if anchor else ""))
    return True
