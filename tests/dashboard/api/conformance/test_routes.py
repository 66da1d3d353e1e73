"""The seam as a program meets it: closed, open, and strict about what it is sent."""

from typing import Any

import pytest
from django.test import Client

from dashboard.api.conformance.script_validation import MOST_ANSWERS
from dashboard.simulator.scripts import ENDINGS, SCRIPTS
from tests.dashboard.api.conftest import Program, said

pytestmark = pytest.mark.django_db
SCRIPTS_AT = "/simulator/scripts"
GOOD = {"name": "once", "answers": [{"text": "{}"}]}


@pytest.mark.parametrize("body", [GOOD, {}, "not json"])
def test_a_closed_seam_is_404_for_every_request_and_says_how_to_open_it(api: Program, body: Any) -> None:
    answer = api.post(SCRIPTS_AT, body)
    assert answer.status_code == 404
    assert "WHYSTOP_TEST_SEAM=1" in answer.json()["detail"]
    assert {api.get(f"{SCRIPTS_AT}{more}").status_code for more in ("", "/once", "/once/calls")} == {404}
    assert SCRIPTS.all() == []


@pytest.mark.usefixtures("seam")
def test_an_open_seam_also_refuses_unauthenticated_callers(client: Client) -> None:
    for method in ("get", "post"):
        assert getattr(client, method)(f"/api/v1{SCRIPTS_AT}").status_code == 401
    assert SCRIPTS.all() == []


@pytest.mark.usefixtures("seam")
def test_a_script_is_written_read_and_deleted(api: Program) -> None:
    made = api.post(SCRIPTS_AT, GOOD)
    assert made.status_code == 201
    script = made.json()
    assert (script["model"], script["answers"], script["calls"]) == ("script-once", 1, 0)
    assert script["base_urls"]["openai"] == "http://127.0.0.1:8322/v1"
    assert script["base_urls"]["anthropic"] == "http://127.0.0.1:8322"
    assert api.get(SCRIPTS_AT).json() == [script]
    assert api.get(f"{SCRIPTS_AT}/once").json() == script
    assert api.get(f"{SCRIPTS_AT}/once/calls").json() == {
        "name": "once",
        "model": "script-once",
        "total": 0,
        "lastReceivedMaxTokens": None,
        "lastReceivedSystemPrompt": None,
        "calls": [],
    }
    assert api.client.delete(f"/api/v1{SCRIPTS_AT}/once").status_code == 204
    gone = api.get(f"{SCRIPTS_AT}/once")
    assert (gone.status_code, "“once”" in gone.json()["detail"]) == (404, True)
    assert api.client.delete(f"/api/v1{SCRIPTS_AT}/once").status_code == 404


@pytest.mark.usefixtures("seam")
def test_without_a_simulator_in_this_process_the_seam_says_so(api: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SCRIPTS, "served_at", None)
    answer = api.post(SCRIPTS_AT, GOOD)
    assert (answer.status_code, "manage.py up" in answer.json()["detail"]) == (409, True)


@pytest.mark.usefixtures("seam")
def test_a_name_may_be_reused(api: Program) -> None:
    assert api.post(SCRIPTS_AT, GOOD).status_code == 201
    assert api.post(SCRIPTS_AT, GOOD | {"answers": [{}, {}]}).json()["answers"] == 2
    assert len(api.get(SCRIPTS_AT).json()) == 1


def answer(**fields: Any) -> dict[str, Any]:
    return {"name": "x", "answers": [{}, fields]}


#: What is sent, the field that is wrong, and words of what is said of it.
BAD = [
    ({"name": "Big", "answers": [{}]}, "name", "small letters"),
    ({"name": "a/b", "answers": [{}]}, "name", "small letters"),
    ({"name": "", "answers": [{}]}, "name", "1 to 63"),
    ({"name": "x"}, "answers", "required"),
    ({"name": "x", "answers": []}, "answers", "from 1 to 50"),
    ({"name": "x", "answers": [{}] * (MOST_ANSWERS + 1)}, "answers", "from 1 to 50, not 51"),
    ({"name": "x", "answers": [{"text": "a" * 150_000}] * 2}, "answers", "200,000 characters in all, not 300,000"),
    ({"name": "x", "answers": [{}], "mockTruncationSequence": [1]}, "mockTruncationSequence", "with answers"),
    ({"name": "x", "answers": [{}], "envelope": None}, "envelope", "with answers"),
    ({"name": "x", "mockTruncationSequence": [1, -1]}, "mockTruncationSequence.1", "not -1"),
    ({"name": "x", "mockTruncationSequence": [0] * 51}, "mockTruncationSequence", "not 51"),
    ({"name": "x", "mockSchemaViolationSequence": [False] * 51}, "mockSchemaViolationSequence", "not 51"),
    (answer(behaviour="sim-nothing"), "answers.1.behaviour", "no model “sim-nothing”"),
    (answer(behaviour="sim-odd", text="x"), "answers.1.behaviour", "not go with text"),
    (answer(behaviour="sim-odd", error={"status": 500}), "answers.1.behaviour", "not go with error"),
    (answer(error={"status": 500}, hangs_up=True), "answers.1.error", "not go with hangs_up"),
    (answer(error={"status": 200}), "answers.1.error.status", "from 400 to 599, not 200"),
    (answer(error={"status": 429, "retry_after": -1}), "answers.1.error.retry_after", "not -1"),
    (answer(refusal="No.", text="Yes."), "answers.1.refusal", "not go with text"),
    (answer(truncated=0), "answers.1.truncated", "from 1"),
    (answer(delay_ms=60_001), "answers.1.delay_ms", "60,000"),
    (answer(output_tokens=-1), "answers.1.output_tokens", "not -1"),
    (answer(tool_calls=[{"name": "a"}] * 17), "answers.1.tool_calls", "not 17"),
]
MISSHAPEN = [
    ({"answers": [{}]}, "name", "required"),
    (answer(txt="x"), "answers.1.txt", "no field “txt”"),
    (answer(text=7), "answers.1.text", "must be text"),
    (answer(stop_reason="stopped"), "answers.1.stop_reason", "must be one of 'end_turn'"),
    (answer(tool_calls=[{}]), "answers.1.tool_calls.0.name", "required"),
    (answer(error={}), "answers.1.error.status", "required"),
    ({"name": "x", "mockTruncationSequence": "all"}, "mockTruncationSequence", "must be a list"),
]


@pytest.mark.usefixtures("seam")
@pytest.mark.parametrize(
    ("status", "body", "field", "words"), [*((400, *bad) for bad in BAD), *((422, *bad) for bad in MISSHAPEN)]
)
def test_an_invalid_script_is_answered_with_the_faulty_field(
    api: Program, status: int, body: dict[str, Any], field: str, words: str
) -> None:
    response = api.post(SCRIPTS_AT, body)
    assert response.status_code == status, response.content
    assert words in (said(response)[field] or "")
    assert SCRIPTS.all() == []


@pytest.mark.usefixtures("seam")
@pytest.mark.parametrize("word", ENDINGS)
def test_every_stop_reason_may_be_scripted(api: Program, word: str) -> None:
    assert api.post(SCRIPTS_AT, answer(stop_reason=word)).status_code == 201


@pytest.mark.usefixtures("seam")
def test_the_sequences_of_the_rfc_end_with_a_valid_answer(api: Program) -> None:
    body = {"name": "x", "mockTruncationSequence": [5, 0], "mockSchemaViolationSequence": [False, True, True]}
    assert api.post(SCRIPTS_AT, body).json()["answers"] == 4
