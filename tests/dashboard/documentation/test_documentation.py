"""`/docs/`: each document is a page, its links lead to pages, and the search finds sections."""

import re

import pytest
from django.test import Client

from dashboard.documentation.contents import CHECKOUT, Page, image_at, pages
from dashboard.documentation.markdown import document_of
from dashboard.documentation.search import hits_of
from tests.dashboard.pages import page, read

pytestmark = pytest.mark.django_db

HREF = re.compile(r'href="(/docs/[^"#]*)?(?:#([^"]+))?"')


def written(tmp_path, monkeypatch, text: str) -> str:
    """The HTML of a page with this text."""
    (tmp_path / "one.md").write_text(text, encoding="utf-8")
    pages()  # the table of contents, which is read once, is that of the real folder
    monkeypatch.setattr("dashboard.documentation.contents.FOLDER", tmp_path)
    return document_of.__wrapped__(Page("one", "One", "one.md")).html


def test_every_document_is_served_with_its_title(browser: Client):
    for each in pages().values():
        title = each.text().split("\n", 1)[0].removeprefix("# ").replace("`", "")
        html = page(browser, each.address)
        assert title in re.sub(r"</?code>", "", html), each.name
        assert f'<a href="{each.address}" aria-current="page">' in html or each.name == "index"


def test_every_internal_link_of_the_documents_resolves_to_a_page_and_an_anchor(browser: Client):
    ids = {each.address: set(read(document_of(each).html).ids) for each in pages().values()}
    for each in pages().values():
        for address, anchor in HREF.findall(document_of(each).html):
            target = address or each.address
            assert target in ids, (each.name, target)
            assert not anchor or anchor in ids[target], (each.name, target, anchor)
        for image in re.findall(r'src="/docs/([^"]+)"', document_of(each).html):
            assert image_at(image), (each.name, image)


def test_ids_on_a_page_are_unique():
    assert [each.name for each in pages().values() if len(set(i := read(document_of(each).html).ids)) < len(i)] == []


def test_raw_html_and_script_urls_are_rendered_as_text(tmp_path, monkeypatch):
    html = written(tmp_path, monkeypatch, "<script>x</script>\n\n[y](javascript:alert(1)) <b onclick=z>z</b>\n")
    assert "<script" not in html
    assert "<b" not in html
    assert "href" not in html


def test_a_link_to_a_file_outside_the_documents_is_rendered_as_text(tmp_path, monkeypatch):
    html = written(tmp_path, monkeypatch, "[the code](../manage.py) and [more](https://example.com)\n")
    assert html == '<p><span>the code</span> and <a href="https://example.com">more</a></p>\n'


def test_code_can_be_copied(browser: Client):
    html = page(browser, "/docs/how-to/operations")
    assert re.search(
        r'<code id="(code-\d+)">\.venv/bin/python manage\.py doctor\n</code></pre><button [^>]*data-copy="\1"', html
    )


@pytest.mark.parametrize("name", ["how-to/gateway.md", "how-to/gateway/"])
def test_the_file_name_of_a_document_leads_to_its_page(browser: Client, name: str):
    assert browser.get(f"/docs/{name}").headers["Location"] == "/docs/how-to/gateway"


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "../README",
        "%2e%2e/manage.py",
        "../static/img/icon.png",
        "index.html",
        "x" * 300,
        "x/" * 3_000 + ".png",
    ],
)
def test_only_documents_and_their_pictures_are_served(browser: Client, name: str):
    assert browser.get(f"/docs/{name}").status_code == 404


def test_a_picture_is_served(browser: Client):
    answer = browser.get("/docs/screenshots/turn-light-1280.png")
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.content == (CHECKOUT / "docs/screenshots/turn-light-1280.png").read_bytes()


def test_the_documents_require_sign_in(client: Client):
    assert client.get("/docs/").status_code == 401 or "/sign-in/" in client.get("/docs/").headers["Location"]


def test_a_section_with_all_words_is_found_and_headings_rank_first(browser: Client):
    assert hits_of("doctor")[0].page.name == "how-to/operations"
    assert all("restore" in f"{hit.section.title} {hit.section.text}".lower() for hit in hits_of("Backup RESTORE"))
    html = page(browser, "/docs/?q=doctor")
    assert "<mark>doctor</mark>" in html.lower()
    assert 'value="doctor"' in html


def test_a_search_that_finds_nothing_says_so(browser: Client):
    assert "No section has all of these words." in page(browser, "/docs/?q=%3Cb%3Ezzz")
    assert "&lt;b&gt;zzz" in page(browser, "/docs/?q=%3Cb%3Ezzz")


def test_a_table_whose_corner_is_empty_has_no_empty_heading(browser: Client):
    html = browser.get("/docs/how-to/gateway").content.decode()
    assert "<th></th>" not in html
    assert re.search(r"<tr>\s*<td></td>\s*<th>observe</th>", html)
