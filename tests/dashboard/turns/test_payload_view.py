"""What was sent and what came back, to be read: the stream as the one answer that it adds up to."""

import json
import re
from html import unescape

import pytest
from django.test import Client

from dashboard.turns.models import Attempt
from dashboard.turns.payload_view import MOST_DEPTH, MOST_VALUES, folded, readable_of
from tests.dashboard.driving import Play
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = b'{"id": "x", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}'


def read(html: str, name: str) -> str:
    """The text of an element of the page."""
    return unescape(
        re.sub(r"<[^>]*>", "", html.split(f'id="{name}"')[1].split(">", 1)[1].split("</pre>", maxsplit=1)[0])
    )


def test_a_stream_is_assembled_beside_its_bytes(play: Play, browser: Client):
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
def test_an_unassemblable_stream_is_shown_only_as_bytes(came: bytes, status: int):
    attempt = Attempt(provider="openai", status_code=status, max_tokens=60)
    assert readable_of(attempt, "{}", came).came is None


def test_a_complete_answer_is_shown_collapsible_and_unchanged():
    found = readable_of(Attempt(provider="openai", status_code=200, max_tokens=60), "{}", WHOLE)
    assert (found.is_stream, found.came is not None) == (False, True)


def copied(text: str) -> str:
    """What the page's button copies: the text of what is shown, folded or not."""
    shown = folded(text)
    assert shown is not None
    return unescape(re.sub(r"<[^>]*>", "", shown))


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"a": [1, 2.50, 1e400, -0, 12345678901234567890123], "b": {"c": null, "d": [true, false, {}, []]}}',
        '{"text": "<script>alert(1)</script> & \\"quoted\\"\\nline", "größe": "…"}',
        '[{"a": "\\ud800"}, [[["deep"]]]]',
    ],
)
def test_the_copied_text_is_the_original_json(text: str):
    as_it_came = {"parse_int": str, "parse_float": str}
    assert json.loads(copied(text), **as_it_came) == json.loads(text, **as_it_came)


def test_repeated_keys_and_digits_are_kept():
    assert copied('{"a": 1.10, "a": 2}') == '{\n  "a": 1.10,\n  "a": 2\n}\n'


def test_json_keys_and_values_are_escaped():
    shown = folded('{"<b>": "</details><script>"}')
    assert shown is not None
    assert "<script" not in shown
    assert '<b>"&lt;b&gt;"' in shown


def test_deep_or_long_parts_start_collapsed():
    shown = folded(json.dumps({"a": {"b": {"c": {"d": 1}}}, "many": [0] * 41})) or ""
    assert shown.count("<details open>") == 3
    assert shown.count("<details>") == 2
    assert 'data-count="41 items"' in shown
    assert 'data-count="1 key"' in shown


@pytest.mark.parametrize(
    "text",
    ["", "null", "12", "data: {}", "[" * (MOST_DEPTH + 2) + "]" * (MOST_DEPTH + 2), json.dumps([0] * MOST_VALUES)],
)
def test_invalid_or_oversized_json_is_not_collapsible(text: str):
    assert folded(text) is None
