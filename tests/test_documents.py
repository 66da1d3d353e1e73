"""The documents: each is found from the index, no link is broken, and the README stays short."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def broken_links(page: Path) -> list[str]:
    """The links of a page to files or headings that do not exist."""
    broken = []
    for file, heading in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in file or file.startswith("/"):
            continue
        target = page.parent / file if file else page
        if not target.exists() or (heading and heading not in headings(target)):
            broken.append(f"{page.name}: {file}#{heading}")
    return broken


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    lines = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_every_link_between_the_documents_resolves() -> None:
    assert [link for page in PAGES for link in broken_links(page)] == []


def test_every_document_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:] if page.name != "index.md"]
    assert [page for page in pages if f"]({page})" not in index] == []


def test_the_readme_is_at_most_150_lines() -> None:
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 150


def test_every_document_states_its_purpose_first() -> None:
    first = {page.name: page.read_text(encoding="utf-8").split("\n\n")[1] for page in PAGES}
    assert [name for name, words in first.items() if words.startswith(("#", "|", "- ", "```"))] == []


def test_a_page_has_the_title_given_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = re.findall(r"^- \[(.+)\]\(((?:tutorial|how-to|explanation)/[^)]+)\)$", index, re.MULTILINE)
    titles = [((ROOT / "docs" / file).read_text(encoding="utf-8").split("\n", 1)[0], name) for name, file in named]
    assert len(titles) > 30
    assert [(title, name) for title, name in titles if title != f"# {name}"] == []


def test_every_import_contract_named_in_a_document_exists() -> None:
    names = re.findall(r"^name = (.+)$", (ROOT / ".importlinter").read_text(encoding="utf-8"), re.MULTILINE)
    texts = [
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        *(page.read_text(encoding="utf-8") for page in PAGES),
    ]
    named = [found for text in texts for found in re.findall(r"\bcontract \*([^*]+)\*", " ".join(text.split()))]
    assert named
    assert [one for one in named if not any(name.startswith(one.removesuffix(" …")) for name in names)] == []


def test_every_table_of_a_document_is_one_piece_with_a_head() -> None:
    for page in PAGES:
        lines = page.read_text().splitlines()
        tables = [n for n, line in enumerate(lines) if line.startswith("|")]
        starts = [n for n in tables if n - 1 not in tables]
        broken = [n + 1 for n in starts if not lines[n + 1].startswith(("|-", "|:", "| -", "| :"))]
        assert broken == [], f"{page}: rows apart from their table are served as a paragraph"
