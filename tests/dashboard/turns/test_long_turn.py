"""A turn of hundreds of attempts and megabytes of stream has a page like any other."""

import gzip
import re
from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker

from dashboard.agents.selectors import project_default
from dashboard.bench.long_turn import long_turn_store
from dashboard.turns.attempts_page import LENGTH, attempts_page
from dashboard.turns.history import raw_response_of, rebuilt_columns
from dashboard.turns.models import Attempt, AttemptChunk, Turn
from dashboard.turns.turn_view import turn_view
from tests.dashboard.pages import HTMX, page

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def stored(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[UUID]:
    """Its id: five megabytes, made once for these tests. What each of them does is undone within."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield long_turn_store(project=project_default()).id
        transaction.set_rollback(True)


@pytest.fixture
def long_turn(stored: UUID, db: None) -> Turn:
    return Turn.objects.get(pk=stored)


def test_the_long_turn_has_its_documented_size_and_its_replay_is_verified(long_turn: Turn):
    assert (long_turn.attempts, long_turn.status) == (500, "completed")
    assert Attempt.objects.filter(turn_id=long_turn.id).count() == 500
    sizes = [len(raw) for raw in AttemptChunk.objects.filter(turn_id=long_turn.id).values_list("raw", flat=True)]
    assert 4_500_000 < sum(sizes) < 5_500_000
    kinds = set(Attempt.objects.filter(turn_id=long_turn.id).values_list("kind", flat=True))
    assert kinds == {"initial", "continuation", "after_tools", "error_retry"}
    assert turn_view(long_turn).verified
    assert rebuilt_columns(long_turn)["verdict"] == long_turn.verdict


def test_its_page_is_small_and_makes_few_queries(browser: Client, long_turn: Turn):
    with CaptureQueriesContext(connection) as asked:
        html = page(browser, f"/turns/{long_turn.id}?step=700")
    assert len(gzip.compress(html.encode())) < 300_000
    assert len(asked) < 36, "a third of them for the limit of an answer that may be cut"
    assert 'data-now="700"' in html
    assert f'data-rest="/turns/{long_turn.id}/transcript"' in html
    assert html.count('<details id="attempt-') == LENGTH
    assert re.search(r"parts</?[^>]*> (before|after) this one are left out|<b>\d+</b>\u00a0parts before", html)


def test_its_whole_transcript_is_loaded_by_one_request(browser: Client, long_turn: Turn):
    address = f"/turns/{long_turn.id}/transcript"
    html = page(browser, address, **HTMX)
    assert "<html" not in html
    assert "<title>The whole answer of" in page(browser, address)
    assert "data-rest" not in html
    assert html.count('class="piece"') == 487  # all but those that failed
    last = Attempt.objects.get(turn_id=long_turn.id, index=500)
    assert last.text in html
    assert raw_response_of(last)


def test_its_attempts_are_paged(browser: Client, long_turn: Turn):
    html = browser.get(f"/turns/{long_turn.id}/attempts?attempts=3").content.decode()
    assert [int(n) for n in re.findall(r'id="attempt-(\d+)"', html)] == list(range(101, 151))
    assert "page 3 of 10" in html
    assert {'attempts=2"', 'attempts=4"'} <= set(re.findall(r'attempts=\d+"', html))


def test_a_page_of_attempts_is_the_requested_one_or_the_nearest(long_turn: Turn):
    for number, attempt, found in [(None, 1, 1), (None, 50, 1), (None, 51, 2), (99, 1, 10), (0, 1, 1)]:
        assert attempts_page(long_turn.id, number=number, attempt=attempt).number == found
