"""What was sent and what came back, to be read: the stream as the one answer that it adds up to."""

import re
from html import unescape

import pytest
from django.test import Client

from dashboard.turns.models import Attempt
from dashboard.turns.payload_view import readable_of
from tests.dashboard.driving import Play
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = b'{"id": "x", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}'


def read(html: str, name: str) -> str:
    """The text of an element of the page."""
    return unescape(
        re.sub(r"<[^>]*>", "", html.split(f'id="{name}"')[1].split(">", 1)[1].split("</pre>", maxsplit=1)[0])
    )


def test_a_stream_is_put_together_beside_its_bytes(play: Play, browser: Client):
    turn = play("sim-essay", max_tokens=60)
    attempt = Attempt.objects.get(turn_id=turn.id, index=1)
    html = page(browser, f"/turns/{turn.id}/attempts/1/raw")
    together = read(html, "came-1-folded")
    assert f'"text": "{attempt.text[:40]}' in together
    assert '"stop_reason": "max_tokens"' in together
    assert '"output_tokens": 60' in together
    assert "data: {" in read(html, "came-1")
    assert '"model": "sim-essay"' in read(html, "sent-1-folded")
    assert html.count('data-copy="came-1') == html.count('data-copy="sent-1') == 2


@pytest.mark.parametrize(("came", "status"), [(b"", 200), (b"no stream at all", 200), (b"<html>", 502)])
def test_what_adds_up_to_no_answer_is_shown_as_bytes_alone(came: bytes, status: int):
    attempt = Attempt(provider="openai", status_code=status, max_tokens=60)
    assert readable_of(attempt, "{}", came).came is None


def test_one_whole_answer_is_folded_as_it_came():
    found = readable_of(Attempt(provider="openai", status_code=200, max_tokens=60), "{}", WHOLE)
    assert (found.is_stream, found.came is not None) == (False, True)
