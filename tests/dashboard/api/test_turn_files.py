"""Export, import and comments over the API."""

import json
from uuid import uuid4

import pytest

from dashboard.live.services import turn_start
from dashboard.turns.models import Turn
from tests.dashboard.api.conftest import Program, said
from tests.dashboard.driving import AgentOf, Play
from tests.dashboard.ingest.turn_files.test_services import changed, erase
from tests.nightly import nightly

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("imports_here")]


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def test_a_turn_is_exported_and_imported(api: Program, cut: Turn):
    file = api.get(f"/turns/{cut.id}/export")
    assert file.status_code == 200
    erase(cut)
    response = api.post("/turns/import", file.content)
    assert (response.status_code, response.json()) == (
        201,
        {
            "id": str(cut.id),
            "already_here": False,
            "verified": True,
            "doubt": "",
            "missing": [],
            "vouched_by": "own",
        },
    )
    again = api.post("/turns/import", file.content)
    assert (again.status_code, again.json()["already_here"]) == (200, True)
    assert api.post(f"/turns/{cut.id}/replay", {"mode": "verify"}).json() == {
        "verified": True,
        "divergence": None,
        "missing": [],
        "vouched_by": "own",
    }


def test_a_running_turn_is_a_conflict_and_an_unknown_one_is_missing(api: Program, agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="Wait.")
    response = api.get(f"/turns/{turn.id}/export")
    assert response.status_code == 409
    assert "once it has ended" in said(response).get(None, response.json()["detail"])
    assert api.get(f"/turns/{uuid4()}/export").status_code == 404


def test_faults_of_a_file_are_reported_by_field(api: Program, cut: Turn):
    file = api.get(f"/turns/{cut.id}/export").json()
    broken = changed(file, "turn", "records", 1, "seq", to=9)
    assert "missing" in str(api.problem("/turns/import", broken)["turn.records"])
    untrue = changed(file, "turn", "records", 1, "transitions", 0, "reason", to="no")
    assert "another result" in str(api.problem("/turns/import", untrue)["turn.records"])
    assert api.post("/turns/import?unverified=true", untrue).json()["verified"] is False


@pytest.mark.parametrize(
    ("body", "times", "status"),
    [nightly(b"", 1, 400), (b"{", 1, 400), nightly(b"[]", 1, 400), (b" ", 64_000_001, 413)],
)
def test_an_input_that_is_not_a_file_is_explained(api: Program, body: bytes, times: int, status: int):
    response = api.post("/turns/import", body * times)
    assert response.status_code == status
    said(response)


def test_a_file_larger_than_the_limit_of_other_bodies_is_accepted(api: Program, cut: Turn):
    file = api.get(f"/turns/{cut.id}/export").json()
    padded = json.dumps(file).encode() + b" " * 5_000_000
    assert api.post("/turns/import", padded).status_code == 200


def test_comments_are_created_and_listed(api: Program, cut: Turn):
    made = api.post(f"/turns/{cut.id}/comments", {"transition": 2, "text": " Here. "})
    assert made.status_code == 201
    assert (made.json()["transition"], made.json()["text"], made.json()["author"]) == (2, "Here.", "bootstrap")
    api.post(f"/turns/{cut.id}/comments", {"text": "As a whole."})
    assert [c["text"] for c in api.get(f"/turns/{cut.id}/comments").json()] == ["As a whole.", "Here."]
    assert "1 to 14" in str(api.problem(f"/turns/{cut.id}/comments", {"transition": 99, "text": "x"})["transition"])
    assert "Enter a comment." in str(api.problem(f"/turns/{cut.id}/comments", {"transition": 1, "text": " \n"})["text"])
    assert "transition" in str(api.problem(f"/turns/{cut.id}/comments", {"transition": -1, "text": "x"}))
    api.problem(f"/turns/{cut.id}/comments", {"transition": 1, "text": "x" * 4001})
    api.problem(f"/turns/{cut.id}/comments", {"transition": "1", "text": "x"}, status=422)
