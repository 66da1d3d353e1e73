"""What people say about a turn stands where they said it."""

import re

import pytest
from django.test import Client

from dashboard.accounts.models import User
from dashboard.turns.comments.models import Comment
from dashboard.turns.comments.services import comment_add
from dashboard.turns.comments.templatetags.comments import said
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.pages import page
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def add(browser: Client, turn: Turn, text: str, transition: int | str = 3):
    return browser.post(f"/turns/{turn.id}/comments", {"text": text, "transition": str(transition)}, follow=True)


def test_a_comment_is_shown_in_its_step_on_the_deck_and_in_the_list(browser: Client, cut: Turn):
    response = browser.post(f"/turns/{cut.id}/comments", {"text": "Too small.", "transition": "3"})
    assert response["Location"] == f"/turns/{cut.id}?step=3#c{cut.comments.get().id}"
    html = page(browser, f"/turns/{cut.id}?step=3")
    assert html.count("Too small.") == 3  # step, list, and the form to edit it
    assert html.count('class="remarked"') == 1
    assert re.search(r'<div data-remarks-at="3"><blockquote.{1,200}Too small\.', html, re.DOTALL)
    assert '<div data-remarks-at="3" hidden>' in page(browser, f"/turns/{cut.id}?step=2")


def test_the_step_data_of_a_share_link_contains_no_comments(browser: Client, cut: Turn):
    add(browser, cut, "Too small.")
    data = re.findall(r'<template id="steps">(.*?)</template>', page(browser, f"/turns/{cut.id}"), re.DOTALL)
    assert len(data) == 1
    assert "Too small." not in data[0]


def test_a_comment_may_be_about_the_whole_turn(browser: Client, cut: Turn):
    add(browser, cut, "All in all.", 0)
    html = page(browser, f"/turns/{cut.id}")
    assert "All in all." in html
    assert 'class="remarked"' not in html


@together
@pytest.mark.parametrize(
    ("text", "transition"),
    [("", 3), (" \n ", 3), ("x" * 4001, 3), ("x", 99), ("x", "-1"), ("x", "abc"), ("x", "9" * 30)],
)
def test_an_invalid_comment_is_refused_and_explained(browser: Client, cut: Turn, text: str, transition: int | str):
    html = add(browser, cut, text, transition).content.decode()
    assert 'class="note error"' in html
    assert not Comment.objects.exists()


def test_only_its_author_can_change_or_delete_a_comment(browser: Client, cut: Turn):
    other = comment_add(turn=cut, transition=1, text="Not yours.", author=User.objects.create(username="ada"))
    for what in ("edit", "delete"):
        assert browser.post(f"/turns/{cut.id}/comments/{other.id}/{what}", {"text": "Mine."}).status_code == 404
    add(browser, cut, "Mine.")
    mine = Comment.objects.exclude(pk=other.pk).get()
    html = browser.post(
        f"/turns/{cut.id}/comments/{mine.id}/edit", {"text": "Mine, better."}, follow=True
    ).content.decode()
    assert "Mine, better." in html
    assert ", edited" in html
    browser.post(f"/turns/{cut.id}/comments/{mine.id}/edit", {"text": ""})
    mine.refresh_from_db()
    assert mine.text == "Mine, better."
    browser.post(f"/turns/{cut.id}/comments/{mine.id}/delete")
    assert list(Comment.objects.all()) == [other]


def test_a_cross_site_form_is_refused(cut: Turn, browser: Client):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    assert strict.post(f"/turns/{cut.id}/comments", {"text": "x", "transition": "1"}).status_code == 403
    assert browser.get(f"/turns/{cut.id}/comments").status_code == 405


REL = 'rel="noopener noreferrer nofollow ugc" target="_blank"'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\nb", "a<br>b"),
        (SCRIPT, "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        (
            'http://a.example/"onclick="x',
            f'<a href="http://a.example/" {REL}>http://a.example/</a>&quot;onclick=&quot;x',
        ),
        (
            "(see https://a.example/b?c=d&e=f).",
            f'(see <a href="https://a.example/b?c=d&amp;e=f" {REL}>https://a.example/b?c=d&amp;e=f</a>).',
        ),
        ("http://... and https://", "http://... and https://"),
        (
            f"http://a.example/{'.' * 2000}a {'.' * 2000}",
            f'<a href="http://a.example/{"." * 2000}a" {REL}>http://a.example/{"." * 2000}a</a> {"." * 2000}',
        ),
    ],
)
def test_text_is_escaped_and_only_web_urls_become_links(text: str, html: str):
    assert said(text) == html


def test_the_admin_lists_comments_and_deletes_them(browser: Client, cut: Turn):
    comment = comment_add(turn=cut, transition=1, text=SCRIPT, author=User.objects.get(username="operator"))
    html = browser.get("/admin/commenting/comment/").content.decode()
    assert "operator" in html
    assert SCRIPT not in html
    assert browser.get(f"/admin/commenting/comment/{comment.pk}/change/").status_code == 200
    browser.post(f"/admin/commenting/comment/{comment.pk}/delete/", {"post": "yes"})
    assert not Comment.objects.exists()


def test_comments_are_deleted_with_their_turn(cut: Turn, browser: Client):
    from tests.dashboard.ingest.turn_files.test_services import erase

    add(browser, cut, "Gone soon.")
    erase(cut)
    assert not Comment.objects.exists()
