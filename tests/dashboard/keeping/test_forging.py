"""A file that was altered, its open checksum computed again, is refused or stored as one that does not replay true."""

import base64
import json
from typing import Any

import pytest

from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.keeping.test_services import brought, changed, erase, exported, refused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def honest(play: Play) -> Turn:
    return play("sim-essay")


def forged(file: dict[str, Any], **answer: str) -> dict[str, Any]:
    """The file with another answer, in every place that holds it but the provider's bytes."""
    said = file["turn"]["attempts"][0]["text"]
    text = json.dumps(file["turn"]).replace(json.dumps(said)[1:-1], json.dumps(answer["text"])[1:-1])
    return changed({**file, "turn": json.loads(text)}, "turn", "overrides", to=file["turn"]["overrides"])


def test_an_answer_that_is_not_in_the_providers_bytes_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = forged(file, text="I never said this.")
    (words,) = refused(altered)["turn.records"]
    assert "bytes of attempt 1 do not give the recorded answer: text" in words
    made = brought(altered, unverified=True)
    assert not made.verified


def test_an_attempt_that_says_otherwise_than_its_record_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "attempts", 0, "text", to="Another text.")
    assert "attempt 1 is not the one of its record" in refused(altered)["turn.records"][0]


def test_a_backdated_turn_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "created_at", to="2020-01-01T00:00:00+00:00")
    assert "Its id was not made when" in refused(altered)["turn.records"][0]


def test_another_question_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "input_text", to="Another question?")
    assert "input is not the one of its first record" in refused(altered)["turn.records"][0]


def test_a_file_without_the_providers_bytes_says_that_its_answers_were_not_compared(honest: Turn, browser: Any):
    file = exported(honest)
    erase(honest)
    made = brought(changed(file, "turn", "attempts", 0, "chunks", to=[]))
    html = browser.get(f"/turns/{made.turn.id}").content.decode()
    assert "answers not compared" in html


def test_bytes_of_another_dialect_are_no_answer(honest: Turn):
    file = exported(honest)
    erase(honest)
    raw = base64.b64encode(b"not an answer of anybody").decode()
    chunks = [{**file["turn"]["attempts"][0]["chunks"][0], "raw": raw}]
    altered = changed(file, "turn", "attempts", 0, "chunks", to=chunks)
    assert "do not give the recorded answer" in refused(altered)["turn.records"][0]


@pytest.mark.parametrize("column", ["status", "stop_reason", "output_text", "output_tokens", "finished_at"])
def test_a_row_that_was_changed_does_not_verify(honest: Turn, column: str):
    from dashboard.replay.services import turn_verify

    other = {"output_tokens": 9, "finished_at": honest.created_at}.get(column, "aborted")
    Turn.objects.filter(pk=honest.pk).update(**{column: other})
    found = turn_verify(turn=Turn.objects.get(pk=honest.pk))
    assert not found.verified
    assert found.divergence is not None
    assert column in (found.divergence.replayed or {})["error"]
