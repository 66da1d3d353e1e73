import re

import pytest
from django.test import Client

from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


@pytest.fixture
def continued(play: Play) -> Turn:
    return play("sim-essay", max_tokens=150)


def column(html: str, name: str) -> str:
    """The part of the page from one column's beginning to its end."""
    return html[html.index(f'id="{name}"') :]


def test_under_the_recorded_numbers_nothing_parts(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}/replay")
    assert "First divergence" not in html
    assert "same words as recorded" in html


def test_a_larger_budget_than_was_recorded_is_not_guessed(browser: Client, cut: Turn):
    html = column(page(browser, f"/turns/{cut.id}/replay?max_tokens=400"), "what-if")
    assert "The recording ends here; what the model would have said next is unknown" in html
    assert "Re-run live" in html
    assert "same words" not in html


def test_a_budget_that_the_recording_covers_completes_with_the_same_words(browser: Client, continued: Turn):
    html = column(page(browser, f"/turns/{continued.id}/replay?max_tokens=400"), "what-if")
    assert "in 1 call" in html
    assert "same words as recorded" in html
    assert "the call asks for 400 tokens in place of 150" in html


def test_every_step_says_where_it_comes_from(browser: Client, continued: Turn):
    html = page(browser, f"/turns/{continued.id}/replay?max_continuations=1")
    assert '<span class="d recorded">recorded</span>' in html
    html = page(browser, f"/turns/{continued.id}/replay?max_tokens=100")
    assert '<span class="d derived">derived</span>' in html


def test_htmx_gets_the_imagined_column_alone(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}/replay?max_tokens=30", **HTMX, **{"HX-Target": "what-if"})
    assert html.count('id="what-if"') == 1
    assert "<html" not in html


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("max_tokens=0", "max_tokens must be at least 1"),
        ("max_tokens=abc", "max_tokens must be a whole number"),
        ("max_tokens=99999999999", "it must be at most 10,000,000 tokens"),
        ("max_continuations=5000", "1,000"),
        ("max_total_output_chars=0", "must be at least 1"),
    ],
)
def test_numbers_that_cannot_be_are_refused_in_words(browser: Client, cut: Turn, query: str, words: str):
    assert words in column(page(browser, f"/turns/{cut.id}/replay?{query}"), "what-if")


def test_a_rerun_is_stored_as_a_child_and_shown_beside_the_others(browser: Client, continued: Turn):
    response = browser.post(f"/turns/{continued.id}/replay/rerun", {"max_tokens": "400", "max_continuations": ""})
    child = Turn.objects.get(parent=continued)
    assert response["Location"] == f"/turns/{continued.id}/replay?max_tokens=400&rerun={child.id}"
    waiting = page(browser, response["Location"])
    assert f'ws-connect="/ws/turns/{child.id}/rerun/' in waiting
    drive(child)
    html = column(page(browser, response["Location"]), "rerun")
    assert "ws-connect" not in html
    assert "same words as the what-if" in html


def test_a_rerun_under_numbers_that_cannot_be_stores_nothing(browser: Client, cut: Turn):
    response = browser.post(f"/turns/{cut.id}/replay/rerun", {"max_tokens": "0"})
    assert response.status_code == 422
    assert not Turn.objects.filter(parent=cut).exists()


def test_verify_says_that_all_records_agree(browser: Client, cut: Turn):
    html = browser.post(f"/turns/{cut.id}/replay/verify", headers=HTMX).content.decode()
    assert re.search(r"All <b>5</b> records were judged again", html)
    plain = browser.post(f"/turns/{cut.id}/replay/verify").content.decode()
    assert "<html" in plain


def test_a_turn_that_is_not_there_is_a_404(browser: Client):
    assert browser.get("/turns/01890000-0000-7000-8000-000000000000/replay").status_code == 404
